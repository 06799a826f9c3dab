"""Runs llama.cpp's server for embeddings: python llama_server.py MODEL PORT."""

import signal
import sys

import xllamacpp

path, port = sys.argv[1:]
parameters = xllamacpp.CommonParams()
parameters.model.path = path
parameters.hostnames = ["127.0.0.1"]
parameters.port = int(port)
parameters.embedding = True
parameters.cpuparams.n_threads = 2
server = xllamacpp.Server(parameters)
signal.pause()
