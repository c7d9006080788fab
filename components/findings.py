"""One computed sentence for each figure: what it shows, in words that follow from the numbers alone."""

from __future__ import annotations

import numpy as np

from components.charts.style import caption_number, interval_text
from components.pair_map import PairMap

NOTHING = 1e-9
CLOSE = 0.25
"""d_mu below this is a cosine above 0.5: means that agree more than they differ."""
LEAST = 30


def map_finding(result: PairMap) -> str:
    """What a pair map shows, in at most three sentences.

    The claims are in this order: degenerate corpora first (no spread, no difference), then whether pairs whose means
    agree still differ in covariance, then how much of d_sigma finite samples alone explain.
    """
    means = result.means
    if float(result.spread.max()) <= NOTHING:
        return ("No text spreads round its mean (each is one token, or equal tokens), so the mean loses nothing here: "
                "every covariance distance is 0.")
    _, mu_high, _, sigma_high = result.ranges()
    if mu_high <= 1e-6 and sigma_high <= 1e-6:
        return "All pairs coincide: the texts have equal means and equal covariances, so there is nothing to lose."
    d_mu, d_sigma, socm = means["d_mu"].value, means["d_sigma"].value, means["socm"].value
    if sigma_high <= 1e-6 * max(1.0, float(result.spread.max())):
        return (f"The covariances are equal and only the means differ (mean distance {caption_number(d_mu)}), so the "
                "mean loses nothing here.")
    if mu_high <= 1e-6:
        return (f"The means are equal and only the covariances differ: mean pooling cannot tell these texts apart, and "
                f"all of their covariance distance, {caption_number(d_sigma)} on average, is lost (SOCM equals it).")
    parts = [_near_means(result, d_sigma, socm)]
    size_share = means["size"].value / d_sigma if d_sigma > 0 else 0.0
    if size_share > 0.5:
        parts.append(f"{size_share:.0%} of the covariance distance is size: texts differ in how far they spread more "
                     "than in which direction.")
    ratio = result.references.ratio
    if ratio is not None and np.isfinite(ratio.value):
        parts.append(f"Two halves of one text already lie {caption_number(ratio.value)} times as far apart as halves "
                     f"of two texts {interval_text(ratio.low, ratio.high)}".rstrip()
                     + ("." if ratio.value < 0.95 else ": these distances say little about the texts."))
    return " ".join(parts)


def _near_means(result: PairMap, d_sigma: float, socm: float) -> str:
    """Whether pairs whose means agree agree in covariance too: what mean pooling would confuse."""
    _, _, mu, sigma = result.pairs
    near = mu < CLOSE
    count = int(near.sum())
    of = {"all": "pairs", "streamed": "sampled pairs", "cycles": "sampled pairs"}[result.method]
    if count < LEAST:
        few = "No pair has" if count == 0 else ("One pair has" if count == 1 else f"Only {count} {of} have")
        return (f"{few} means closer than cosine 0.5, so the covariance distances, {caption_number(d_sigma)} on "
                "average, stand between texts that the mean already separates.")
    inside = float(sigma[near].mean())
    share = count / len(mu)
    amount = f"{share:.1%}" if share >= 0.001 else f"{count:,}"
    if share > 0.5:
        return (f"Most {of} ({amount}) have means closer than cosine 0.5 and lie {caption_number(inside)} apart in "
                f"covariance: what distinguishes them is mostly hidden from the mean (SOCM {caption_number(socm)}).")
    relation = ("less than" if inside < 0.9 * d_sigma else "more than" if inside > 1.1 * d_sigma else "about as much as")
    so = {"less than": "where the means agree, the covariances agree more too",
          "more than": "where the means agree, the covariances differ most, and the mean hides it",
          "about as much as": "the covariances differ whether or not the means agree"}[relation]
    subject = f"{count:,} of {len(mu):,} {of}" if share < 0.001 else f"{amount} of the {of}"
    return (f"{subject} have means closer than cosine 0.5; they lie {caption_number(inside)} apart in "
            f"covariance, {relation} pairs at large ({caption_number(d_sigma)}): {so}.")
