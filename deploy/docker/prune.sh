#!/bin/sh
# Removes files that the gateway can do without from an installed node_modules folder, for a smaller image.
set -eu
cd "$1"
# The native runtime of built-in embedding models takes 100 MB. Without it they use WebAssembly.
rm -rf onnxruntime-node onnxruntime-common
# Second builds and sources of packages.
rm -rf gpt-tokenizer/cjs gpt-tokenizer/src gpt-tokenizer/data
rm -rf @opentelemetry/*/build/esm @opentelemetry/*/build/esnext zod/src
find . -type f \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.cts' -o -name '*.d.mts' \) -delete
# bunx is the same program as bun.
rm -f bun/bin/bunx.exe .bin/bunx
