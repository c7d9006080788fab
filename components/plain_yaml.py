"""YAML as plain data: no tags, no anchors, no key twice.

An alias can make a file of a kilobyte unfold into gigabytes, a tag asks for an object, and of a key that stands twice YAML
keeps the last without a word. None of them belongs into a file of settings, so each is refused with its line.
"""

from __future__ import annotations

from typing import Any

import yaml

from components.errors import DataError, shown

DEEPEST = 20
"""Levels of nesting; settings need three."""


class OnceLoader(yaml.SafeLoader):
    """Refuses a key that stands twice."""


def _once(loader: yaml.SafeLoader, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
    seen = set()
    for key_node, _ in node.value:
        key = loader.construct_object(key_node, deep=True)  # type: ignore[no-untyped-call]
        if key in seen:
            raise yaml.constructor.ConstructorError(None, None, f"the key {key!r} stands twice", key_node.start_mark)
        seen.add(key)
    return dict(loader.construct_mapping(node, deep=deep))


OnceLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _once)


def plain_mapping(text: str, called: str, example: str) -> dict[Any, Any]:
    """The keys and values of a YAML text.

    Args:
        text: one document.
        called: how sentences name the file.
        example: a line as it should look, for the way out.

    Raises:
        DataError: not YAML, tags, anchors or aliases, a key twice, more than one document, nested too deeply, no mapping.
    """
    try:
        depth = 0
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            line = event.start_mark.line + 1 if event.start_mark else 0
            anchor = getattr(event, "anchor", None)
            tag = getattr(event, "tag", None)
            if anchor:
                raise DataError(f"line {line} of {called}", "must hold plain values", f"the anchor or alias {shown(anchor)}",
                                "write the value out where it is meant")
            if tag:
                raise DataError(f"line {line} of {called}", "must hold plain values", f"the tag {shown(tag)}",
                                "leave out the tag and write the value")
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > DEEPEST:
                raise DataError(f"line {line} of {called}", f"must be nested at most {DEEPEST} deep", "more", "write one key a line")
        found = yaml.load(text, Loader=OnceLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or type(error).__name__
        raise DataError(called, "must be plain YAML", f"{problem}{where}", "mend that line") from error
    except (RecursionError, ValueError, TypeError) as error:
        raise DataError(called, "must be plain YAML", type(error).__name__, "write one key a line") from error
    if not isinstance(found, dict):
        raise DataError(called, f"must be keys with values, as in {example!r}",
                        "nothing" if found is None else type(found).__name__, "write one key a line")
    return found
