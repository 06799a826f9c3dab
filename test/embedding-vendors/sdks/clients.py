"""Requests of the vendors' own SDKs to the fakes of `run.ts`. Prints the vectors of each request as a line of JSON."""
import base64
import io
import json
import sys

import cohere
import PIL.Image
import voyageai
from google import genai
from google.genai import types

url, keys, file = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3]
png = open(file, "rb").read()
data_url = "data:image/png;base64," + base64.b64encode(png).decode()


def show(name, vectors):
    print(json.dumps({"name": name, "vectors": vectors}), flush=True)


client = cohere.ClientV2(api_key=keys["cohere"], base_url=url + "/cohere/embed-v4.0")
image = {"type": "image_url", "image_url": {"url": data_url}}
text = {"type": "text", "text": "a boat"}


def embed(name, kind, **given):
    response = client.embed(
        model="embed-v4.0", input_type="search_document", embedding_types=[kind], truncate="NONE", **given
    )
    show(name, getattr(response.embeddings, kind))


embed("cohere, texts", "base64", texts=["a boat", "a ship"])
embed("cohere, an image", "base64", inputs=[{"content": [image]}])
embed("cohere, a text with an image", "base64", inputs=[{"content": [text, image]}])
embed("cohere, a text with an image as int8", "int8", inputs=[{"content": [text, image]}])
client = cohere.ClientV2(api_key=keys["cohere"], base_url=url + "/cohere/embed-multilingual-v3.0")
response = client.embed(
    model="embed-multilingual-v3.0",
    input_type="image",
    embedding_types=["ubinary"],
    images=[data_url],
    truncate="NONE",
)
show("cohere, an image of Embed 3 as ubinary", response.embeddings.ubinary)

client = voyageai.Client(api_key=keys["voyage"], base_url=url + "/voyage/voyage-3.5")
show("voyage, texts", client.embed(["a boat", "a ship"], model="voyage-3.5", truncation=False).embeddings)
result = client.embed(["a boat"], model="voyage-3.5", truncation=False, output_dtype="int8", output_dimension=256)
show("voyage, a text as int8", result.embeddings)

picture = PIL.Image.open(io.BytesIO(png))
client = voyageai.Client(api_key=keys["voyage"], base_url=url + "/voyage/voyage-multimodal-3.5")


def multimodal(name, inputs, **more):
    result = client.multimodal_embed(inputs, model="voyage-multimodal-3.5", truncation=False, **more)
    show(name, result.embeddings)


multimodal("voyage, a text by the multimodal model", [["a boat"]])
multimodal("voyage, an image", [{"content": [{"type": "image_base64", "image_base64": data_url}]}])
multimodal("voyage, a text with an image of PIL", [["a boat", picture]])
multimodal("voyage, a text with an image as ubinary", [["a boat", picture]], output_dtype="ubinary")

for model in ["gemini-embedding-001", "gemini-embedding-2"]:
    options = types.HttpOptions(base_url=url + "/gemini/" + model)
    client = genai.Client(api_key=keys["gemini"], http_options=options)
    # gemini-embedding-2 fuses a list of strings.
    contents = [types.Content(parts=[types.Part.from_text(text=text)]) for text in ["a boat", "a ship"]]
    response = client.models.embed_content(model=model, contents=contents)
    show(f"{model}, texts", [one.values for one in response.embeddings])
image = types.Part.from_bytes(data=png, mime_type="image/png")
for name, parts in {
    "gemini, an image": [image],
    "gemini, a text with an image": [types.Part.from_text(text="a boat"), image],
}.items():
    response = client.models.embed_content(model=model, contents=[types.Content(parts=parts)])
    show(name, [one.values for one in response.embeddings])
