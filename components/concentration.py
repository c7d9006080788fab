"""How a layer draws a text's tokens together: lambda, r, C, spread and mean cosine, layer by layer (Theorem 1).

The spread S of a text's tokens is their mean squared distance to their mean. An attention block can shrink it in two
steps. Attention replaces tokens by averages of tokens, and lambda says how much of the spread a head's averages can leave:
below 1 they contract. The residual stream then adds a large common vector, and r compares the spread before with the length of
that mean after. C is what the rest of the block (norms, feed-forward) does to the normalised spread. A normalised spread
near 0 means that mean pooling, which keeps only the mean, loses little.

(1 + sqrt lambda)^2 r C is the theorem's scale, no bound: the theorem speaks of expectations and of a single head. What holds
for every text is ``always_valid_inequality``. Texts run in padded batches; one layer's attention is in memory at a time.

Source: Hara et al., arXiv 2604.27398, Theorem 1 and appendix. The paper averages over texts of these ratios; so may the reader.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from components.architectures import Adapter, HeadWeights, LayerParts, NotProven, adapter_of, why_no_adapter
from components.encoders import Encoder
from components.types import FINAL, CancelEvent, FloatArray, IntArray, Progress, frozen, no_progress

ROUNDING = 1e-12
"""Normalised spread up to which tokens count as identical: states are float32, good to a millionth of their length."""

CHUNK = 1 << 22
"""Attention entries widened to float64 at a time, 32 MiB."""

PER_LAYER = ("r", "c", "attention_gain", "residual_gain", "scale", "inequality_left", "inequality_right")
PER_STATE = ("spread", "mean_norm", "normalized_spread", "mean_cosine", "mean_cosine_no_self")


@dataclass(frozen=True)
class LayerStatistics:
    """Statistics of each text at each layer, float64, NaN where a quotient is 0/0 or nothing can be given.

    In what follows L is the number of layers; entries of (n_texts, L) are layers 1..L, entries of (n_texts, L + 2) are layers
    0..L and "final". Special tokens count, as in the paper. Tokens whose normalised spread is under 1e-12 count as
    identical, spread 0. Texts without a token are NaN everywhere, but for lambda.

    Attributes:
        lambda_: (n_texts, L, n_heads) sigma_max(W_v W_o)^2 ||P A||_F^2 / (n - 1); 0 for texts of one token or none. In
            pre-norm models it refers to the normalised attention input.
        r: (n_texts, L) S(H) / ||mu(Y)||^2, of each text (the paper defines a ratio of expectations); 0 for identical tokens.
        c: (n_texts, L) normalised spread of X over that of Y; NaN where S(Y) is 0, as for one token.
        attention_gain: (n_texts, L) S(Z) / S(H); NaN where both are 0, as for one token.
        residual_gain: (n_texts, L) S(Y) / S(H); the same.
        scale: (n_texts, L) (1 + sqrt of the heads' mean lambda)^2 r C; NaN with C. A scale, no bound.
        inequality_left, inequality_right: (n_texts, L) of ``always_valid_inequality``; NaN unless asked for.
        spread: (n_texts, L + 2) S.
        mean_norm: (n_texts, L + 2) ||mu||.
        normalized_spread: (n_texts, L + 2) S / ||mu||^2; infinite where only mu is 0, NaN where S is 0 too.
        mean_cosine: (n_texts, L + 2) of all pairs of tokens, each with itself included, as in the paper; NaN where a token is 0.
        mean_cosine_no_self: (n_texts, L + 2) without those; NaN for one token.
        n_tokens: (n_texts,) int64.
        cut: numbers of the texts that were cut at the model's limit.
        unknown_share: unknown tokens among those that are not special.
        pre_norm: whether attention is fed with a normalised H.
        available: whether lambda, r, C, gains and scale are given; all NaN otherwise.
        reason: a sentence why not, or "".
        notes: on how the model had to be run.
    """

    lambda_: FloatArray
    r: FloatArray
    c: FloatArray
    attention_gain: FloatArray
    residual_gain: FloatArray
    scale: FloatArray
    inequality_left: FloatArray
    inequality_right: FloatArray
    spread: FloatArray
    mean_norm: FloatArray
    normalized_spread: FloatArray
    mean_cosine: FloatArray
    mean_cosine_no_self: FloatArray
    n_tokens: IntArray
    cut: IntArray
    unknown_share: float
    pre_norm: bool
    available: bool
    reason: str
    notes: tuple[str, ...] = ()


def layer_statistics(encoder: Encoder, texts: Sequence[str], *, prompt: str = "", batch_size: int = 32, inequality: bool = False,
                     progress: Progress = no_progress, cancelled: CancelEvent | None = None) -> LayerStatistics:
    """Concentration statistics of each text at each layer, from one forward pass a batch.

    Args:
        encoder: its attention runs as "eager" meanwhile, and as before afterwards.
        texts: at least one.
        prompt: put in front of every text; its tokens count like others.
        batch_size: texts at a time; halved and retried when memory runs out.
        inequality: also compute both sides of ``always_valid_inequality``, an SVD for every text, head and layer.

    Returns:
        Statistics in the order of the texts. For families without an adapter, or models that do not pass its checks on their
        first batch, spread and cosine only, with the reason.

    Raises:
        Cancelled: the event was set.
    """
    tokenised = encoder.tokenise(texts, prompt)
    adapter, reason = adapter_of(encoder.model), why_no_adapter(encoder.model)
    while True:
        table = _Table(encoder, len(texts), adapter, inequality)

        def work(batch: IntArray, table: _Table = table) -> None:
            ids, real = encoder.padded(tokenised, batch)
            if ids.size:
                table.fill(batch, ids, real)

        try:
            notes = encoder.in_batches(tokenised, work, batch_size, "Measuring layers", progress, cancelled)
            break
        except NotProven as error:
            adapter, reason = None, str(error)
    if reason:
        reason = f"lambda, r and C are not available for {encoder.ref.model_id}: {reason}."
    pre_norm = adapter is not None and adapter.pre_norm
    if pre_norm:
        notes += (f"{encoder.ref.model_id} normalises what attention reads: lambda refers to the normalised input.",)
    lengths = np.array([len(x) for x in tokenised.ids], dtype=np.int64)
    if adapter is not None:
        table.arrays["lambda_"][lengths <= 1] = 0
    return LayerStatistics(**{name: frozen(array) for name, array in table.arrays.items()}, n_tokens=frozen(lengths),
                           cut=frozen(tokenised.cut), unknown_share=tokenised.unknown_share, pre_norm=pre_norm,
                           available=adapter is not None, reason=reason, notes=notes)


class _Table:
    """The arrays of a result and what fills them, batch by batch."""

    def __init__(self, encoder: Encoder, n_texts: int, adapter: Adapter | None, inequality: bool) -> None:
        self.encoder, self.adapter, self.inequality = encoder, adapter, inequality
        n_layers, n_heads = encoder.n_layers, getattr(encoder.model.config, "num_attention_heads", 0)
        n_heads = n_heads if isinstance(n_heads, int) else 0  # some configurations tell it layer by layer, or not at all
        self.arrays = {name: np.full((n_texts, n_layers), np.nan) for name in PER_LAYER} \
            | {name: np.full((n_texts, n_layers + 2), np.nan) for name in PER_STATE} \
            | {"lambda_": np.full((n_texts, n_layers, n_heads), np.nan)}
        self.gains = [head_gains(adapter.heads(layer)) for layer in range(1, n_layers + 1)] if adapter else []
        self.proven = False

    def fill(self, batch: IntArray, ids: IntArray, real: IntArray) -> None:
        mask = torch.from_numpy(real.astype(bool)).to(self.encoder.device)
        if self.adapter is None:
            states = self.encoder.hidden_states(ids, real, self.encoder.layers)
            for place, layer in enumerate(self.encoder.layers):
                self._put_state(batch, place, Moments(states.pop(layer)[:, :ids.shape[1]], mask))
            return
        adapter = self.adapter
        output: torch.Tensor | None = None
        before: Moments | None = None

        def use(layer: int, parts: LayerParts) -> None:
            nonlocal output, before
            if not self.proven and (fault := adapter.fault(layer, parts, mask)):
                raise NotProven(fault)
            if before is None or parts.residual is not output:
                before = Moments(parts.residual, mask)
                if layer == 1:
                    self._put_state(batch, 0, before)
            after = Moments(parts.output, mask)
            self._put_state(batch, layer, after)
            self._put_layer(batch, layer, parts, mask, before, after)
            output, before = parts.output, after

        final = adapter.capture(lambda: self.encoder.hidden_states(ids, real, [FINAL])[FINAL], use)
        if output is None or before is None:
            raise NotProven("its layers did not run")
        if not self.proven and (fault := adapter.final_fault(output, final, mask)):
            raise NotProven(fault)
        self.proven = True
        self._put_state(batch, self.encoder.n_layers + 1, before if final is output else Moments(final, mask))

    def _put(self, name: str, batch: IntArray, place: int, values: torch.Tensor) -> None:
        self.arrays[name][batch, place] = values.cpu().double().numpy()

    def _put_state(self, batch: IntArray, place: int, moments: Moments) -> None:
        for name in PER_STATE:
            self._put(name, batch, place, getattr(moments, name))

    def _put_layer(self, batch: IntArray, layer: int, parts: LayerParts, mask: torch.Tensor, h: Moments, x: Moments) -> None:
        z, y = Moments(parts.attended, mask, cosines=False), Moments(parts.residual + parts.attended, mask, cosines=False)
        lambdas = lambda_of(parts.attention, mask, self.gains[layer - 1])  # type: ignore[arg-type]
        r = h.spread / y.mean_norm.square()
        c = x.normalized_spread / y.normalized_spread
        for name, values in (("lambda_", lambdas), ("r", r), ("c", c), ("attention_gain", z.spread / h.spread),
                             ("residual_gain", y.spread / h.spread), ("scale", (1 + lambdas.mean(dim=1).sqrt()).square() * r * c)):
            self._put(name, batch, layer - 1, values)
        if self.inequality:
            sides = always_valid_inequality(parts, mask, self.gains[layer - 1])
            self._put("inequality_left", batch, layer - 1, sides[0])
            self._put("inequality_right", batch, layer - 1, sides[1])


class Moments:
    """Spread, length of the mean and mean cosine of each text of a padded batch, (n_texts,) each, NaN without a token.

    Spread comes from centred tokens in float64: a difference of two large sums of squares would lose it.

    Args:
        x: (n_texts, width, dim) states.
        mask: (n_texts, width) bool, False at padding.
    """

    def __init__(self, x: torch.Tensor, mask: torch.Tensor, *, cosines: bool = True) -> None:
        x = _wide(x).masked_fill(~mask[:, :, None], 0)
        n = mask.sum(dim=1).to(x.dtype)
        mean = x.sum(dim=1) / n[:, None]
        self.mean_norm = mean.norm(dim=1)
        if cosines:
            lengths = x.norm(dim=2, keepdim=True).masked_fill(~mask[:, :, None], 1)
            total = (x / lengths).sum(dim=1).square().sum(dim=1)
            self.mean_cosine = total / n.square()
            self.mean_cosine_no_self = torch.where(n > 1, (total - n) / (n * (n - 1)), torch.nan)
        centred = x.sub_(mean[:, None]).masked_fill_(~mask[:, :, None], 0)
        spread = centred.square_().sum(dim=(1, 2)) / n
        self.spread = torch.where(spread <= ROUNDING * self.mean_norm.square(), 0 * spread, spread)
        self.normalized_spread = self.spread / self.mean_norm.square()


def head_gains(weights: HeadWeights) -> torch.Tensor:
    """sigma_max(W_v W_o) of each head, (n_heads,) float64, through the small product of two QR factors."""
    left = torch.linalg.qr(weights.value.cpu().double(), mode="r").R
    right = torch.linalg.qr(weights.output.cpu().double().transpose(1, 2), mode="r").R
    return torch.linalg.svdvals(left @ right.transpose(1, 2))[:, 0]


def lambda_of(attention: torch.Tensor, mask: torch.Tensor, gains: torch.Tensor) -> torch.Tensor:
    """lambda of each text and head, (n_texts, n_heads) float64; 0 for texts of one token or none.

    Args:
        attention: (n_texts, n_heads, width, width) probabilities; padded columns are 0.
        mask: (n_texts, width) bool, False at padding.
        gains: (n_heads,) from ``head_gains``.
    """
    step = max(1, CHUNK // attention[0].numel())
    squares = torch.cat([_centred(attention[k:k + step], mask[k:k + step]).square_().sum(dim=(2, 3))
                         for k in range(0, len(attention), step)])
    n = mask.sum(dim=1)[:, None]
    return torch.where(n > 1, gains.to(squares).square() * squares / (n - 1).clamp(min=1), 0)


def always_valid_inequality(parts: LayerParts, mask: torch.Tensor, gains: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Both sides of sqrt S(Y) <= sqrt S(H) + (sum over heads of sigma_max(W_v W_o) ||P A||_2) sqrt S(attention input).

    Derived: Z's centred rows are P A times centred inputs times weights, since A's rows sum to 1, and biases vanish under P.

    Args:
        parts: of one layer and batch, attention among them.
        mask: (n_texts, width) bool, False at padding.
        gains: (n_heads,) from ``head_gains``.

    Returns:
        (n_texts,) float64 each.
    """
    h, y = (Moments(x, mask, cosines=False) for x in (parts.residual, parts.residual + parts.attended))
    fed = Moments(parts.attention_input, mask, cosines=False)
    assert parts.attention is not None, "the inequality needs attention probabilities"
    norms = torch.stack([torch.linalg.matrix_norm(_centred(parts.attention[k:k + 1], mask[k:k + 1])[0], ord=2)
                         for k in range(len(mask))])
    return y.spread.sqrt(), h.spread.sqrt() + (norms * gains.to(norms)).sum(dim=1) * fed.spread.sqrt()


def _centred(attention: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """P A in float64, padded rows and columns 0."""
    rows, columns = ~mask[:, None, :, None], ~mask[:, None, None, :]
    wide = _wide(attention).masked_fill(rows | columns, 0)
    mean = wide.sum(dim=2, keepdim=True) / mask.sum(dim=1).clamp(min=1)[:, None, None, None]
    return wide.sub_(mean).masked_fill_(rows, 0)


def _wide(x: torch.Tensor) -> Any:
    """float64 where the device has it (Apple's has not)."""
    return x if x.device.type == "mps" else x.double()
