"""`function-process.py <code folder> <module.function> <ARN>`: as `function-process.ts`, for a function in Python."""

import importlib
import json
import logging
import os
import socket
import sys
import time
import traceback

# Node hands the channel to its parent over as a socket, with a message of JSON on each line.
channel = socket.socket(fileno=int(os.environ.pop("NODE_CHANNEL_FD")))
channel.setblocking(True)


def tell(**message):
    channel.sendall(json.dumps(message).encode() + b"\n")


# The files of a traceback's first frames: this one, and those that import the code of the function.
NOT_OF_USER = (__file__, importlib.__file__, "<frozen importlib")


def error_of(error):
    said = {"errorType": type(error).__name__, "errorMessage": str(error)}
    frames = error.__traceback__
    while frames and frames.tb_frame.f_code.co_filename.startswith(NOT_OF_USER):
        frames = frames.tb_next
    # Python writes no first line if there are no frames, as of a syntax error.
    first = "" if frames else "Traceback (most recent call last):\n"
    stack = first + "".join(traceback.format_exception(type(error), error, frames))
    return {**said, "thrown": {"message": str(error), "stack": stack}}


class LogLine(logging.Formatter):
    """One line of JSON, so that the log has a message and its traceback as one entry. The level as on Lambda: `[INFO] …`"""

    def format(self, record):
        said = {"level": f"[{record.levelname}]", "message": record.getMessage()}
        error = record.exc_info and record.exc_info[1]
        if error:
            said["error"] = {"message": str(error), "stack": self.formatException(record.exc_info)}
        return json.dumps(said)


# As on Lambda, the root logger has a handler and the level WARNING before the code of the function is loaded.
log_handler = logging.StreamHandler(sys.stdout)
log_handler.setFormatter(LogLine())
logging.getLogger().addHandler(log_handler)


class Context:
    """Lambda's context object: https://docs.aws.amazon.com/lambda/latest/dg/python-context.html"""

    function_name = os.environ.get("AWS_LAMBDA_FUNCTION_NAME")
    function_version = os.environ.get("AWS_LAMBDA_FUNCTION_VERSION")
    memory_limit_in_mb = os.environ.get("AWS_LAMBDA_FUNCTION_MEMORY_SIZE")
    log_group_name = os.environ.get("AWS_LAMBDA_LOG_GROUP_NAME")
    log_stream_name = os.environ.get("AWS_LAMBDA_LOG_STREAM_NAME")
    invoked_function_arn = sys.argv[3]
    identity = None
    client_context = None

    def __init__(self, request_id, deadline):
        self.aws_request_id = request_id
        self._deadline = deadline

    def get_remaining_time_in_millis(self):
        return max(0, int(self._deadline - time.time() * 1000))


def load(folder, name):
    # Python looks first into the folder of this file.
    sys.path[0] = folder
    module, function = name.rsplit(".", 1)
    return getattr(importlib.import_module(module.replace("/", ".")), function)


def run(handler, request_id, event, deadline):
    try:
        payload = json.dumps(handler(json.loads(event), Context(request_id, deadline)))
        tell(type="returned", requestId=request_id, payload=payload)
    except Exception as error:
        tell(type="threw", requestId=request_id, error=error_of(error))


try:
    handler = load(sys.argv[1], sys.argv[2])
except Exception as error:
    tell(type="unloadable", error=error_of(error))
    sys.exit(1)
tell(type="ready")
for line in channel.makefile("rb"):
    message = json.loads(line)
    if "event" in message:
        run(handler, message["requestId"], message["event"], message["deadline"])
