"""Typed read-through calls for the pages: a stored result, or what to start to get it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from app import hosted, presence, resources
from app.job import Job
from app.settings import settings
from components.fault_pipeline import chunks_key, company_key
from components.layer_curves import LayerCurves, LayerOptions
from components.layer_pipeline import layers_key
from components.length_pipeline import LengthOptions, length_key
from components.models import ModelRef, declared, hidden_size, layer_count, resolve_model
from components.pair_map import PairMap, PairOptions
from components.pair_parts import n_pairs_of
from components.pair_selection import Pairs
from components.pipeline import pair_list_key, pair_map_key
from components.pooled_umap_pipeline import pooled_umap_key
from components.pooling_pipeline import pooling_key
from components.pooling_result import PoolingOptions, PoolingResult, declared_prompts
from components.store import ResultKey, StoredResult
from components.subset_pipeline import UMAP, SubsetOptions, subset_key
from components.token_pipeline import TokenOptions, tokens_key
from components.truncation_pipeline import truncation_key
from components.truncation_result import TruncationOptions, TruncationResult
from components.types import Corpus, PairList

Found = TypeVar("Found")
Options = PairOptions | LayerOptions | TokenOptions | SubsetOptions | LengthOptions | PoolingOptions \
    | TruncationOptions


@dataclass(frozen=True)
class Request:
    """A result that a page wants: its key, the worker's task with its arguments, and a word on what it costs."""

    key: ResultKey
    task: str
    args: Mapping[str, Any]
    action: str
    seconds: float


def pair_map_request(corpus_name: str, model_name: str, options: PairOptions) -> Request:
    """What to ask for so that all pairs of a corpus under a model lie in the store.

    Raises:
        DataError, ModelError: with a sentence for the page.
    """
    corpus = resources.corpus(corpus_name)
    key = pair_map_key(corpus, model(model_name), options)
    args = {"corpus": resources.corpus_files()[corpus_name], **_common(model_name, options, key)}
    n = len(corpus.texts)
    pairs = options.cycles_pairs(n) or n_pairs_of(n)
    return Request(key, "pair_map", args, f"Compute {pairs:,} pairs", expected_seconds(corpus, pairs))


def pair_list_request(list_name: str, model_name: str, options: PairOptions) -> Request:
    """What to ask for so that a bundled list of pairs under a model lies in the store."""
    listed = resources.pair_list(list_name)
    key = pair_list_key(listed, model(model_name), options)
    args = {"pairs": list_name, **_common(model_name, options, key)}
    return Request(key, "pair_list", args, f"Compute {len(listed.texts_a):,} labelled pairs", 8)


def layers_request(corpus_name: str, model_name: str, options: LayerOptions) -> Request:
    """What to ask for so that the layers of a corpus under a model lie in the store.

    Raises:
        DataError, ModelError: with a sentence for the page.
    """
    corpus = resources.corpus(corpus_name)
    key = layers_key(corpus, model(model_name), options)
    args = {"corpus": resources.corpus_files()[corpus_name], **_common(model_name, options, key)}
    layers = layer_count(model(model_name)) + 2
    return Request(key, "layers", args, f"Measure {layers} layers of {model_name}",
                   2 * expected_seconds(corpus, 0) + layers * 1e-3 * len(corpus.texts))


def layers(request: Request) -> LayerCurves | None:
    """The stored layers, or None when they have to be computed first."""
    return _stored(resources.stored_layers, request)


def truncation_request(set_name: str, model_name: str) -> Request:
    """What to ask for so that a model's cuts on a bundled retrieval set lie in the store; with the prompts that it declares.

    Raises:
        DataError, ModelError: with a sentence.
    """
    of, ref = resources.retrieval_set(set_name), model(model_name)
    options = TruncationOptions(*declared_prompts(declared(ref.folder)))
    key = truncation_key(of, ref, options)
    args = {"set": resources.retrieval_sets()[set_name], **_common(model_name, options, key)}
    width = hidden_size(ref)
    tokens = (2 * sum(map(len, of.documents)) + sum(map(len, of.queries))) / 4.3 + 50_000
    return Request(key, "truncation", args, f"Cut {model_name} to {width:,} dims and fewer",
                   15 + tokens * 2e-4 * (width / 384) + len(of.queries) * 0.05 + 40 * (width / 384) ** 2)


def truncation(request: Request) -> TruncationResult | None:
    """The stored cuts, or None when they have to be computed first."""
    return _stored(resources.stored_truncation, request)


def tokens_request(pair: PairList, model_name: str) -> Request:
    """What to ask for so that two texts' tokens under a model lie in the store; ``pair`` from ``token_pipeline.one_pair``."""
    options = TokenOptions()
    key = tokens_key(pair, model(model_name), options)
    args = {"text_a": pair.texts_a[0], "text_b": pair.texts_b[0], **_common(model_name, options, key)}
    return Request(key, "pair_tokens", args, "Look at their tokens", 4)


def subset_request(pair: PairList, model_name: str, options: SubsetOptions) -> Request:
    """What to ask for so that some tokens' plane by UMAP, or the plan between them, lies in the store."""
    key = subset_key(pair, model(model_name), options)
    args = {"text_a": pair.texts_a[0], "text_b": pair.texts_b[0], **_common(model_name, options, key)}
    action, seconds = ("Arrange their tokens by UMAP", 25) if options.what == UMAP else ("Move the tokens that are left", 4)
    return Request(key, "pair_subset", args, action, seconds)


def length_request(corpus_name: str, model_name: str, options: LengthOptions) -> Request:
    """What to ask for so that halves of a corpus's texts of given lengths lie in the store."""
    corpus = resources.corpus(corpus_name)
    key = length_key(corpus, model(model_name), options)
    args = {"corpus": resources.corpus_files()[corpus_name], **_common(model_name, options, key)}
    return Request(key, "length_halves", args, f"Measure halves of texts of {options.low} to {options.high} tokens", 8)


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


def _on_set(task: str, set_name: str, model_name: str, options: PoolingOptions, key_of: Callable[..., ResultKey], action: str,
            seconds: float) -> Request:
    key = key_of(resources.retrieval_set(set_name), model(model_name), options)
    return Request(key, task, {"set": resources.retrieval_sets()[set_name], **_common(model_name, options, key)}, action, seconds)


def pooling(request: Request) -> PoolingResult | None:
    """The stored poolings, or None when they have to be computed first."""
    return _stored(resources.stored_pooling, request)


def _stored(read: Callable[[str, ResultKey], Found], request: Request) -> Found | None:
    try:
        return read(request.key.digest, request.key)
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
    return resources.stored_pairs(request.key.digest, found)


def pair_list(request: Request) -> StoredResult | None:
    """The stored statistics of a list of pairs, or None when they have to be computed first."""
    return _stored(resources.stored_result, request)


def listed(name: str) -> PairList:
    """A bundled list of pairs."""
    return resources.pair_list(name)


def model(name: str) -> ModelRef:
    """The model behind a name of the menu; never downloads."""
    return resolve_model(resources.model_names()[name])


def is_backbone(name: str) -> bool:
    """Whether a model's files declare no pooling, since none was trained."""
    return declared(model(name).folder).pooling is None


def start(request: Request, watcher: str) -> Job:
    """Queues the request's computation, or joins it where somebody has asked already.

    Raises:
        DataError: a hosted server's limits, a full line, or too many of this session's own.
    """
    hosted.check(request.args)
    presence.note(watcher)
    return resources.jobs().submit(request.task, request.args, request.key.digest, watcher, expected_s=request.seconds)


def expected_text_seconds(texts: Sequence[str]) -> float:
    """A rough guess of the seconds that encoding takes on two CPU cores."""
    return 2e-4 * sum(map(len, texts)) / 4.3


def start_and_wait(request: Request, watcher: str, seconds: float) -> Job:
    """The same, and gives it a moment: what takes a tenth of a second then needs no second look.

    Only for what a visitor has just asked for, and for less time than a click may take.
    """
    job = start(request, watcher)
    until = time.monotonic() + seconds
    while job.snapshot().active and time.monotonic() < until:
        time.sleep(0.02)
    return job


def expected_seconds(corpus: Corpus, pairs: int) -> float:
    """A rough guess for two CPU cores, from the texts' lengths; the running job measures its own time left."""
    tokens = max(4.0, sum(map(len, corpus.texts)) / len(corpus.texts) / 4.3)
    return 6 + len(corpus.texts) * tokens * 2e-4 + pairs * 11e-6 * (tokens / 27) ** 2
