"""Typed read-through calls for the pages: a stored result, or what to start to get it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any, TypeVar

from app import private, resources, uploads
from app.request import Request as Request
from app.request import start as start
from app.request import start_and_wait as start_and_wait
from app.settings import settings
from components.fault_pipeline import chunks_key, company_key
from components.inline_texts import inline_bytes, inline_texts
from components.layer_curves import LayerCurves, LayerOptions
from components.layer_pipeline import layers_key
from components.length_pipeline import LengthOptions, length_key
from components.model_fetch import fetch_key
from components.models import ModelRef, declared, hidden_size, layer_count, resolve_model
from components.pair_map import PairMap, PairOptions
from components.pair_parts import n_pairs_of
from components.pair_selection import Pairs, pairs_of
from components.pipeline import pair_list_key, pair_map_key
from components.pooled_umap_pipeline import pooled_umap_key
from components.pooling_pipeline import pooling_key
from components.pooling_result import PoolingOptions, PoolingResult, declared_prompts
from components.states_pipeline import pair_of, states_map_key, states_pair_key
from components.store import ResultKey, StoredResult
from components.subset_pipeline import UMAP, SubsetOptions, made_of_key, subset_key
from components.token_files import OwnStates
from components.token_pipeline import TokenOptions, tokens_key
from components.truncation_pipeline import truncation_key
from components.truncation_result import TruncationOptions, TruncationResult
from components.types import Corpus, PairList

Found = TypeVar("Found")
Options = PairOptions | LayerOptions | TokenOptions | SubsetOptions | LengthOptions | PoolingOptions \
    | TruncationOptions


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
        named = {"corpus": resources.corpus_files, "set": resources.retrieval_sources}.get(argument)
        return {argument: named()[name] if named else name}, {}
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


def truncation_request(set_name: str, model_name: str) -> Request:
    """What to ask for so that a model's cuts on a retrieval set lie in the store; with the prompts that it declares.

    Raises:
        DataError, ModelError: with a sentence.
    """
    of, ref = resources.retrieval_set(set_name), model(model_name)
    options = TruncationOptions(*declared_prompts(declared(ref.folder)))
    width = hidden_size(ref)
    tokens = (2 * sum(map(len, of.documents)) + sum(map(len, of.queries))) / 4.3 + 50_000
    return _on_set("truncation", set_name, model_name, options, truncation_key, f"Cut {model_name} to {width:,} dims and fewer",
                   15 + tokens * 2e-4 * (width / 384) + len(of.queries) * 0.05 + 40 * (width / 384) ** 2)


def truncation(request: Request) -> TruncationResult | None:
    """The stored cuts, or None when they have to be computed first."""
    return _stored(resources.stored_truncation, request)


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


def subset_request(pair: PairList, model_name: str, options: SubsetOptions, of: Request) -> Request:
    """What to ask for so that some tokens' plane by UMAP, or the plan between them, lies where the tokens do.

    Args:
        of: the request that the tokens came from.
    """
    action, seconds = ("Arrange their tokens by UMAP", 25) if options.what == UMAP else ("Move the tokens that are left", 4)
    if model_name == uploads.OWN_STATES:
        key = made_of_key(of.key, options)
        return Request(key, "states_subset", {"options": asdict(options)}, action, seconds, of.inline, of.owner)
    key = subset_key(pair, model(model_name), options)
    args = {"text_a": pair.texts_a[0], "text_b": pair.texts_b[0], **_common(model_name, options, key)}
    return Request(key, "pair_subset", args, action, seconds, owner=of.owner)


def length_request(corpus_name: str, model_name: str, options: LengthOptions) -> Request:
    """What to ask for so that halves of a corpus's texts of given lengths lie in the store."""
    corpus = resources.corpus(corpus_name)
    key = length_key(corpus, model(model_name), options)
    args, travels = texts_of(corpus_name)
    return Request(key, "length_halves", args | _common(model_name, options, key),
                   f"Measure halves of texts of {options.low} to {options.high} tokens", 8, **travels)


def stored(request: Request) -> StoredResult | None:
    """A stored result as it is, or None when it has to be computed first."""
    return _stored(resources.stored_result, request)


def tokens(request: Request) -> StoredResult | None:
    """The stored tokens of two texts, or None when they have to be computed first."""
    return stored(request)


def pooling_options(model_name: str, *, prompts: bool = True) -> PoolingOptions:
    """How poolings are measured: with the prompts that the model declares, or without any."""
    query, document = declared_prompts(declared(model(model_name).folder)) if prompts else ("", "")
    return PoolingOptions(query, document)


def pooling_request(set_name: str, model_name: str, options: PoolingOptions) -> Request:
    """What to ask for so that the poolings of a model on a retrieval set lie in the store.

    Raises:
        DataError, ModelError: with a sentence for the page.
    """
    of = resources.retrieval_set(set_name)
    seconds = 12 + expected_text_seconds([*of.queries, *of.documents]) + 15e-6 * len(of.answered) * len(of.documents)
    return _on_set("pooling", set_name, model_name, options, pooling_key, f"Measure the poolings of {model_name}", seconds)


def company_request(set_name: str, model_name: str, options: PoolingOptions) -> Request:
    """What to ask for to see what a text's company in a batch does to it."""
    of = resources.retrieval_set(set_name)
    seconds = 6 + 12 * expected_text_seconds(of.documents)
    return _on_set("company", set_name, model_name, options, company_key, f"Encode {len(of.documents):,} documents in company", seconds)


def chunks_request(set_name: str, model_name: str, options: PoolingOptions) -> Request:
    """What to ask for to compare truncated documents with chunks."""
    of = resources.retrieval_set(set_name)
    return _on_set("chunks", set_name, model_name, options, chunks_key, "Compare truncation with chunks",
                   6 + 5 * expected_text_seconds(of.documents))


def pooled_umap_request(set_name: str, model_name: str, options: PoolingOptions) -> Request:
    """What to ask for to see every pooling's vectors arranged by UMAP."""
    of = resources.retrieval_set(set_name)
    return _on_set("pooled_umap", set_name, model_name, options, pooled_umap_key, "Arrange every pooling by UMAP",
                   40 + expected_text_seconds([*of.queries, *of.documents]))


def _on_set(task: str, set_name: str, model_name: str, options: PoolingOptions | TruncationOptions,
            key_of: Callable[..., ResultKey], action: str, seconds: float) -> Request:
    key = key_of(resources.retrieval_set(set_name), model(model_name), options)
    args, travels = texts_of(set_name, "set")
    return Request(key, task, args | _common(model_name, options, key), action, seconds, **travels)


def pooling(request: Request) -> PoolingResult | None:
    """The stored poolings, or None when they have to be computed first."""
    return _stored(resources.stored_pooling, request)


def _stored(read: Callable[[str, ResultKey], Found], request: Request) -> Found | None:
    try:
        return resources.read_private(read, request.key) if request.owner else read(request.key.digest, request.key)
    except resources.NotStored:
        return None


def _common(model_name: str, options: Options, key: ResultKey) -> dict[str, Any]:
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


def expected_text_seconds(texts: Sequence[str]) -> float:
    """A rough guess of the seconds that encoding takes on two CPU cores."""
    return 2e-4 * sum(map(len, texts)) / 4.3


def expected_seconds(corpus: Corpus, pairs: int) -> float:
    """A rough guess for two CPU cores, from the texts' lengths; the running job measures its own time left."""
    tokens = max(4.0, sum(map(len, corpus.texts)) / len(corpus.texts) / 4.3)
    return 6 + len(corpus.texts) * tokens * 2e-4 + pairs * 11e-6 * (tokens / 27) ** 2
