"""The stubs of a2a-sdk 1.x behind HTTP: `POST /HOST:PORT/RPC` with a request as JSON, its headers as metadata.

Answers `{"result"}` or `{"error"}`, and a stream as events. It prints its port, and ends with its stdin."""

import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import grpc
from a2a.types import a2a_pb2
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.message_factory import GetMessageClass
from google.rpc import error_details_pb2, status_pb2  # noqa: F401: the types of details

SERVICE = a2a_pb2.DESCRIPTOR.services_by_name["A2AService"]
LIMIT = 20


def document(message):
    # JSON has no doubles: a whole number is one.
    shown = json.loads(json.dumps(MessageToDict(message)), parse_float=number)
    if isinstance(message, a2a_pb2.ListTasksResponse):
        # Numbers and texts without presence are on the wire even where nothing is.
        shown = {"tasks": [], "nextPageToken": "", "pageSize": 0, "totalSize": 0} | shown
    return shown


def number(text):
    value = float(text)
    return int(value) if value.is_integer() else value


def failure(call):
    code, name = call.code().value
    details = dict(call.trailing_metadata() or ()).get("grpc-status-details-bin")
    status = status_pb2.Status.FromString(details or b"")
    details = [MessageToDict(one) for one in status.details]
    return {"error": {"code": code, "status": name, "message": call.details(), "details": details}}


class Bridge(BaseHTTPRequestHandler):
    def do_POST(self):
        _, target, name = self.path.split("/")
        rpc = SERVICE.methods_by_name[name]
        asked, answered = GetMessageClass(rpc.input_type), GetMessageClass(rpc.output_type)
        body = self.rfile.read(int(self.headers["content-length"]))
        request = ParseDict(json.loads(body), asked(), ignore_unknown_fields=True)
        headers = {key.lower(): value for key, value in self.headers.items()}
        for key in ("host", "content-type", "content-length"):
            headers.pop(key, None)
        with channel_to(target, headers.pop("x-trust", None)) as channel:
            kind = channel.unary_stream if rpc.server_streaming else channel.unary_unary
            path = f"/{SERVICE.full_name}/{name}"
            method = kind(path, asked.SerializeToString, answered.FromString)
            metadata = tuple(headers.items())
            if rpc.server_streaming:
                return self.stream(method(request, LIMIT, metadata))
            try:
                reply, call = method.with_call(request, LIMIT, metadata)
            except grpc.RpcError as call:
                return self.say(failure(call), call)
            self.say({"result": document(reply)}, call)

    def say(self, answer, call):
        self.head("application/json", call)
        self.wfile.write(json.dumps(answer).encode())

    def head(self, media_type, call):
        self.send_response(200)
        self.send_header("content-type", media_type)
        for key, value in (*(call.initial_metadata() or ()), *(call.trailing_metadata() or ())):
            if key.startswith("a2a-") or key == "www-authenticate":
                self.send_header(key, value)
        self.end_headers()

    def stream(self, events):
        try:
            first = next(events)
        except grpc.RpcError as call:
            return self.say(failure(call), call)
        # Who goes away ends the call.
        threading.Thread(target=lambda: self.connection.recv(1) or events.cancel(), daemon=True).start()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        try:
            while True:
                self.wfile.write(b"data: " + json.dumps(document(first)).encode() + b"\n\n")
                first = next(events)
        except (StopIteration, grpc.RpcError, OSError):
            pass

    def log_message(self, *_):
        pass


def channel_to(target, trusted):
    if trusted is None:
        return grpc.insecure_channel(target)
    with open(trusted, "rb") as file:
        return grpc.secure_channel(target, grpc.ssl_channel_credentials(file.read()))


server = ThreadingHTTPServer(("127.0.0.1", 0), Bridge)
server.daemon_threads = True
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_port, flush=True)
sys.stdin.read()
os._exit(0)
