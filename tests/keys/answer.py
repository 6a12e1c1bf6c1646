"""Answers each line of standard input, the facts of one delivery in JSON, with what the reference makes of them."""
import json
import sys

import reference

# An interpreter's own limit, which is no part of the algorithm.
if hasattr(sys, "set_int_max_str_digits"):
    sys.set_int_max_str_digits(0)


def answer(facts):
    try:
        value = reference.parse(facts["payload"])
    except (ValueError, RecursionError):
        return {"refused": "not JSON"}
    try:
        canonical = reference.canonical(value)
    except ValueError:
        return {"refused": "not canonical"}
    hashed = reference.row_hash(facts["payload"])
    digest = reference.key_digest(
        *(facts[name] for name in ("namespace", "destination", "topic", "row_key", "op", "version")), hashed, facts["epoch"])
    return {
        "canonical": canonical, "row_hash": hashed.hex(), "key": digest.hex(), "token": reference.wire_token(digest),
        "short": reference.wire_short(digest), "uuid": reference.wire_uuid(digest),
    }


for line in sys.stdin.buffer:
    print(json.dumps(answer(json.loads(line))))
