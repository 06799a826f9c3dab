"""The whole cycle of a batch with OpenAI's Python SDK: webhook, file, batch, results, event. Prints a JSON summary."""

import http.server
import json
import queue
import sys
import threading
import time

from openai import OpenAI

received = queue.Queue()


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        received.put((body.decode(), dict(self.headers)))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *args):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
threading.Thread(target=server.serve_forever, daemon=True).start()

client = OpenAI(base_url=sys.argv[1], api_key=sys.argv[2], max_retries=0)
endpoint = client.webhooks.create(
    name="cycle",
    url=f"http://127.0.0.1:{server.server_port}/",
    event_types=["batch.completed", "batch.failed"],
)
lines = "".join(
    json.dumps(
        {
            "custom_id": f"line-{at}",
            "method": "POST",
            "url": "/v1/embeddings",
            "body": {"model": "embedding-model", "input": f"text {at}", "dimensions": 8},
        }
    )
    + "\n"
    for at in range(20)
)
file = client.files.create(file=("lines.jsonl", lines.encode()), purpose="batch")
batch = client.batches.create(
    input_file_id=file.id, endpoint="/v1/embeddings", completion_window="24h"
)
body, headers = received.get(timeout=60)
event = client.webhooks.unwrap(body, headers, secret=endpoint.signing_secret)
batch = client.batches.retrieve(batch.id)
for _ in range(100):
    if batch.status == "completed":
        break
    time.sleep(0.05)
    batch = client.batches.retrieve(batch.id)
results = [json.loads(line) for line in client.files.content(batch.output_file_id).text.splitlines()]
listed = [each.id for each in client.files.list(purpose="batch_output")]
client.files.delete(file.id)
server.shutdown()
print(
    json.dumps(
        {
            "event": event.type,
            "same": event.data.id == batch.id,
            "status": batch.status,
            "counts": batch.request_counts.model_dump(),
            "ids": sorted(each["custom_id"] for each in results),
            "dimensions": {len(each["response"]["body"]["data"][0]["embedding"]) for each in results}.pop(),
            "listed": batch.output_file_id in listed,
        }
    )
)
