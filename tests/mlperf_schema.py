#!/usr/bin/env python3
"""mlperf_schema.py KIND FILE... - validates files of the MLPerf Storage KV-cache benchmark's results tree (KIND: rank,
summary or metadata) against tests/data/mlperf_schema.json, which was written from a tree of the benchmark itself.
Takes the part of JSON Schema that it needs. Prints what is wrong; exit status 1 then."""

import json
import os
import re
import sys

TYPES = {
    "null": lambda v: v is None,
    "boolean": lambda v: isinstance(v, bool),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
    "string": lambda v: isinstance(v, str),
    "array": lambda v: isinstance(v, list),
    "object": lambda v: isinstance(v, dict),
}
KNOWN = {"title", "type", "properties", "patternProperties", "additionalProperties", "required", "items", "oneOf",
         "const", "pattern"}


def check(value, schema, path):
    """Yields a line for each thing that is wrong."""
    assert set(schema) <= KNOWN, "a keyword that this validator does not know: %s" % schema.keys()
    if "oneOf" in schema:
        found = [list(check(value, one, path)) for one in schema["oneOf"]]
        if sum(not errors for errors in found) != 1:
            yield "%s: matches none or several of its forms: %s" % (path, found)
    if "const" in schema and value != schema["const"]:
        yield "%s: is not %s" % (path, schema["const"])
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(TYPES[t](value) for t in types):
        yield "%s: is no %s: %.40r" % (path, " or ".join(types), value)
        return
    if "pattern" in schema and not re.search(schema["pattern"], value):
        yield "%s: %r does not match %s" % (path, value, schema["pattern"])
    if isinstance(value, list):
        for i, element in enumerate(value):
            yield from check(element, schema.get("items", {}), "%s[%d]" % (path, i))
    if isinstance(value, dict):
        for name in schema.get("required", []):
            if name not in value:
                yield "%s: has no member %s" % (path, name)
        for name, member in value.items():
            where = "%s.%s" % (path, name)
            patterns = [s for p, s in schema.get("patternProperties", {}).items() if re.search(p, name)]
            if name in schema.get("properties", {}):
                yield from check(member, schema["properties"][name], where)
            elif not patterns and schema.get("additionalProperties") is False:
                yield "%s: is a member that does not belong there" % where
            for pattern in patterns:
                yield from check(member, pattern, where)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "data", "mlperf_schema.json")) as f:
        schema = json.load(f)[sys.argv[1]]
    wrong = 0
    for path in sys.argv[2:]:
        with open(path) as f:
            for line in check(json.load(f), schema, ""):
                print("%s: %s" % (path, line))
                wrong += 1
    sys.exit(1 if wrong or len(sys.argv) < 3 else 0)


main()
