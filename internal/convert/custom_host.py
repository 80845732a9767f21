"""Runs users' converters for dumptool: one JSON call a line on standard input,
one JSON answer a line on standard output."""
import importlib.util
import inspect
import json
import os
import sys
import traceback

import numpy

answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what a converter prints must not mix with the answers
calls = os.fdopen(os.dup(0))
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # nor what it reads with the calls
modules = {}


class Unusable(Exception):
    """A module that is no converter."""


def load(path):
    """Import a converter and check the arguments its convert function declares."""
    name = os.path.splitext(os.path.basename(path))[0]
    sys.path.insert(0, os.path.dirname(path))
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    function = getattr(module, "convert", None)
    if not callable(function):
        raise Unusable("there is no function convert")
    want = 4 if "to_FRACTAL_Z" in name else 3
    declared = len(inspect.signature(function).parameters)
    if declared != want:
        raise Unusable("convert declares %d arguments, want %d" % (declared, want))
    return function, want


def convert(call):
    """Carry one call out."""
    path = call["module"]
    if path not in modules:
        modules[path] = load(path)
    function, arguments = modules[path]
    array = numpy.load(call["in"])
    given = [call["shape_from"], call["shape_to"], array, call["group"]]
    result = function(*given[:arguments])
    if not isinstance(result, numpy.ndarray):
        raise TypeError("convert returned %s, want ndarray" % type(result).__name__)
    numpy.save(call["out"], numpy.ascontiguousarray(result).reshape(result.shape))


for line in calls:
    try:
        convert(json.loads(line))
        answer = {}
    except Unusable as error:
        answer = {"unusable": str(error)}
    except BaseException as error:
        answer = {"error": traceback.format_exception_only(type(error), error)[-1].strip()}
    answers.write(json.dumps(answer) + "\n")
    answers.flush()
