"""Typed read-through calls for the pages: a stored result, or what to start to get it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, TypeVar

from app import private, resources, uploads
from app.job import Job
from app.settings import settings
from app.worker_client import StoreSpec
from components.inline_texts import inline_bytes, inline_texts
from components.layer_curves import LayerCurves, LayerOptions
from components.layer_pipeline import layers_key
from components.model_fetch import fetch_key
from components.models import ModelRef, declared, layer_count, resolve_model
from components.pair_map import PairMap, PairOptions
from components.pair_parts import n_pairs_of
from components.pair_selection import Pairs, pairs_of
from components.pipeline import pair_list_key, pair_map_key
from components.states_pipeline import pair_of, states_map_key, states_pair_key
from components.store import ResultKey, StoredResult
from components.token_files import OwnStates
from components.token_pipeline import TokenOptions, tokens_key
from components.types import Corpus, PairList

Found = TypeVar("Found")


@dataclass(frozen=True)
class Request:
    """A result that a page wants: its key, the worker's task with its arguments, and a word on what it costs."""

    key: ResultKey
    task: str
    args: Mapping[str, Any]
    action: str
    seconds: float  # 0 where it cannot be told
    inline: Callable[[], bytes] | None = field(default=None, repr=False, compare=False)
    """Makes the texts that travel with it, where they lie in a session and in no file."""
    owner: str = ""
    """The session whose own store takes the result, where the server's may not have it."""

    @property
    def job_key(self) -> str:
        """What its job is found by: the result's key, and the session where the result is its own."""
        return self.key.digest + (f"-{self.owner}" if self.owner else "")


def pair_map_request(corpus_name: str, model_name: str, options: PairOptions) -> Request:
    """What to ask for so that all pairs of a corpus under a model lie in the store.

    Raises:
        DataError, ModelError: with a sentence for the page.
    """
    own = uploads.own(uploads.STATES).get(corpus_name)
    if own is not None:
        return _states_request(own.data, options)
    corpus = resources.corpus(corpus_name)
    key = pair_map_key(corpus, model(model_name), options)
    args, travels = texts_of(corpus_name)
    n = len(corpus.texts)
    pairs = options.cycles_pairs(n) or n_pairs_of(n)
    return Request(key, "pair_map", args | _common(model_name, options, key), f"Compute {pairs:,} pairs",
                   expected_seconds(corpus, pairs), **travels)


def _states_request(own: OwnStates, options: PairOptions) -> Request:
    n = len(own.states)
    pairs = options.cycles_pairs(n) or n_pairs_of(n)
    args = {"options": asdict(options), "device": settings().device}
    return Request(states_map_key(own, options), "states_map", args, f"Compute {pairs:,} pairs",
                   3 + pairs * 11e-6 * (float(own.states.lengths.mean()) / 27) ** 2, lambda: inline_bytes(own.npz()),
                   private.session().id if settings().hosted else "")


def states_pair_request(corpus_name: str, a: int, b: int) -> Request:
    """What to ask for so that two texts of one's own token states lie in a store with their transport plan.

    Raises:
        DataError: a text has too many tokens.
    """
    pair = pair_of(uploads.own(uploads.STATES)[corpus_name].data, a, b)
    owner = "" if settings().keep_texts and not settings().hosted else private.session().id
    return Request(states_pair_key(pair), "states_pair", {}, "Look at their tokens", 2, lambda: inline_bytes(pair.npz()), owner)


def pair_list_request(list_name: str, model_name: str, options: PairOptions) -> Request:
    """What to ask for so that a list of pairs of the menu under a model lies in the store."""
    listed = resources.pair_list(list_name)
    key = pair_list_key(listed, model(model_name), options)
    args, travels = texts_of(list_name, "pairs")
    return Request(key, "pair_list", args | _common(model_name, options, key), f"Compute {len(listed.texts_a):,} labelled pairs",
                   8 + 5e-3 * len(listed.texts_a), **travels)


def texts_of(name: str, argument: str = "corpus") -> tuple[dict[str, Any], dict[str, Any]]:
    """How a worker's task gets at the texts behind a name of the menu: its arguments, and more fields of the ``Request``.

    Args:
        name: of a corpus, of a list of pairs or of a retrieval set.
        argument: what the task calls it: "corpus", "pairs" or "set".
    """
    own = uploads.own().get(name)
    if own is None:
        return {argument: resources.corpus_files()[name] if argument == "corpus" else name}, {}
    return {}, {"inline": partial(inline_texts, own.data), "owner": private.session().id if settings().hosted else ""}


def layers_request(corpus_name: str, model_name: str, options: LayerOptions) -> Request:
    """What to ask for so that the layers of a corpus under a model lie in the store.

    Raises:
        DataError, ModelError: with a sentence for the page.
    """
    corpus = resources.corpus(corpus_name)
    key = layers_key(corpus, model(model_name), options)
    args, travels = texts_of(corpus_name)
    layers = layer_count(model(model_name)) + 2
    return Request(key, "layers", args | _common(model_name, options, key), f"Measure {layers} layers of {model_name}",
                   2 * expected_seconds(corpus, 0) + layers * 1e-3 * len(corpus.texts), **travels)


def layers(request: Request) -> LayerCurves | None:
    """The stored layers, or None when they have to be computed first."""
    return _stored(resources.stored_layers, request)


def tokens_request(pair: PairList, model_name: str, *, own: bool = False) -> Request:
    """What to ask for so that two texts' tokens under a model lie in the store; ``pair`` from ``token_pipeline.one_pair``.

    Args:
        own: the texts are the visitor's, typed or uploaded. Tokens are the text over again, so such a result goes into the
            session's own store, unless the owner wants texts kept.
    """
    options = TokenOptions()
    key = tokens_key(pair, model(model_name), options)
    args = {"text_a": pair.texts_a[0], "text_b": pair.texts_b[0], **_common(model_name, options, key)}
    owned = own and (settings().hosted or not settings().keep_texts)
    return Request(key, "pair_tokens", args, "Look at their tokens", 4, owner=private.session().id if owned else "")


def tokens(request: Request) -> StoredResult | None:
    """The stored tokens of two texts, or None when they have to be computed first."""
    return _stored(resources.stored_result, request)


def _stored(read: Callable[[str, ResultKey], Found], request: Request) -> Found | None:
    try:
        return resources.read_private(read, request.key) if request.owner else read(request.key.digest, request.key)
    except resources.NotStored:
        return None


def _common(model_name: str, options: PairOptions | LayerOptions | TokenOptions, key: ResultKey) -> dict[str, Any]:
    own = settings()
    return {"model": resources.model_names()[model_name], "options": asdict(options), "device": own.device,
            "allow_remote_code": list(own.allow_remote_code), "digest": key.digest}


def pair_map(request: Request) -> PairMap | None:
    """The stored pair map, or None when it has to be computed first."""
    return _stored(resources.stored_pair_map, request)


def pairs(request: Request, found: PairMap) -> Pairs:
    """The columns of a stored map's pairs."""
    if request.owner:
        return private.session().kept(("pairs", request.key.digest), lambda: pairs_of(found))
    return resources.stored_pairs(request.key.digest, found)


def pair_list(request: Request) -> StoredResult | None:
    """The stored statistics of a list of pairs, or None when they have to be computed first."""
    return _stored(resources.stored_result, request)


def listed(name: str) -> PairList:
    """A list of pairs of the menu."""
    return resources.pair_list(name)


def model(name: str) -> ModelRef:
    """The model behind a name of the menu; never downloads."""
    return resolve_model(resources.model_names()[name])


def fetch_request(model_name: str) -> Request:
    """What to ask for so that a model of the hub lies in the local cache."""
    return Request(fetch_key(model_name), "fetch_model", {"model": model_name}, f"Fetch {model_name} from the Hugging Face hub", 0)


def is_backbone(name: str) -> bool:
    """Whether a model's files declare no pooling, since none was trained."""
    return declared(model(name).folder).pooling is None


def start(request: Request, watcher: str) -> Job:
    """Queues the request's computation, or joins it where somebody has asked already."""
    registry = resources.jobs()
    for gone in private.left():
        registry.leave(gone)
    own = StoreSpec(root=str(private.session().store().root), max_bytes=private.STORE_BYTES) if request.owner else None
    return registry.submit(request.task, request.args, request.job_key, watcher, inline=request.inline, store=own)


def expected_seconds(corpus: Corpus, pairs: int) -> float:
    """A rough guess for two CPU cores, from the texts' lengths; the running job measures its own time left."""
    tokens = max(4.0, sum(map(len, corpus.texts)) / len(corpus.texts) / 4.3)
    return 6 + len(corpus.texts) * tokens * 2e-4 + pairs * 11e-6 * (tokens / 27) ** 2
