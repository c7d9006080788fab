"""The panels of the Map page."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from app import widgets
from components.charts.pair_density import TopPairs, pair_density, pair_density_alt
from components.charts.style import ChartTheme, caption_number
from components.pair_map import PairMap
from components.types import Corpus

RINGS = 20
CHART = {"displaylogo": False, "scrollZoom": False,
         "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d"]}


def headline(result: PairMap) -> None:
    """Four numbers, each with its interval and what it rests on."""
    means, ratio = result.means, result.references.ratio
    with st.container(key="headline"):
        socm, mu, sigma, halves = st.columns(4)
        widgets.number(socm, "Mean SOCM", means["socm"].value, widgets.spread_of(means["socm"]),
                       "SOCM = (1 − d_mu) · d_sigma: large only where the means agree and the covariances do not.")
        widgets.number(mu, "Mean distance $d_\\mu$", means["d_mu"].value,
                       f"mean cosine {caption_number(1 - 2 * means['d_mu'].value)}",
                       "A quarter of the squared distance between the two means, scaled to length 1: (1 − cosine) / 2.")
        widgets.number(sigma, "Covariance distance $d_\\Sigma$", means["d_sigma"].value,
                       f"size {caption_number(means['size'].value)}, shape {caption_number(means['shape'].value)}",
                       "A quarter of the squared Bures-Wasserstein distance between the token covariances. Size: how "
                       "differently the texts spread; shape: how little their directions agree.")
        widgets.number(halves, "Halves of one text, of two", ratio.value if ratio else None, widgets.spread_of(ratio),
                       "Covariance distance between random halves of one text, divided by that between halves of two "
                       "texts of like length: how much of the distance finite samples give already.")


def figure(result: PairMap, corpus: Corpus, theme: ChartTheme) -> None:
    """The plane with all pairs, drawn twice: the page's width decides which of the two is seen."""
    counts, mu_edges, sigma_edges = result.plane_counts()
    i, j, d_mu, d_sigma = result.top
    top = TopPairs(d_mu[:RINGS], d_sigma[:RINGS], tuple(corpus.texts[k] for k in i[:RINGS]),
                   tuple(corpus.texts[k] for k in j[:RINGS]))
    alt = pair_density_alt(counts, mu_edges, sigma_edges, top=top)
    for narrow, key in ((False, "wide"), (True, "narrow")):
        with st.container(key=key):
            drawn = pair_density(counts, mu_edges, sigma_edges, theme, top=top, narrow=narrow,
                                 height=430 if narrow else 520)
            st.plotly_chart(drawn, theme=None, key=f"map_{key}", alt=alt, config=CHART)


def largest_pairs(result: PairMap, corpus: Corpus) -> None:
    """The pairs of largest SOCM as a table. Whether the mean confuses them is for labels to say, not for SOCM."""
    with st.expander(f"Pairs of largest SOCM ({len(result.top[0])} of {result.n_pairs:,})"):
        i, j, d_mu, d_sigma = result.top
        table = pd.DataFrame({
            "SOCM": (1 - d_mu) * d_sigma, "d_mu": d_mu, "d_sigma": d_sigma,
            "text A": [corpus.texts[k] for k in i], "text B": [corpus.texts[k] for k in j],
            "tokens A": result.n_tokens[i], "tokens B": result.n_tokens[j]})
        numbers = {name: st.column_config.NumberColumn(label, format="%.3f") for name, label in
                   (("SOCM", "SOCM"), ("d_mu", "Mean distance dμ"), ("d_sigma", "Covariance distance dΣ"))}
        st.dataframe(table, column_config=numbers, hide_index=True, key="largest")


def caveats(result: PairMap) -> None:
    """What to know before believing the numbers, folded."""
    around = result.references
    with st.expander("What these numbers rest on"):
        lines = [
            "**Scaling.** All tokens of a text are divided by the length of their mean, so every mean has length 1.",
            "**$d_\\Sigma$ is not bounded by 1.** It is at most a quarter of the two texts' spreads together, and the "
            "spread of tokens round a mean of length 1 is often above 2. "
            f"Here it reaches {caption_number(result.meta['highest']['d_sigma'])}; its mean, "
            f"{caption_number(result.means['d_sigma'].value)}, stays below the mean bound "
            f"{caption_number(result.means['ceiling'].value)}.",
            "**Intervals** are 95 % and over texts (delete-one jackknife): pairs share texts, so they are not "
            "independent.",
        ]
        if around.within and around.between and around.half_tokens:
            lines.append(
                f"**Finite samples.** Random halves of one text ({caption_number(around.half_tokens)} tokens on "
                f"average) lie {caption_number(around.within.value)} apart, halves of two texts "
                f"{caption_number(around.between.value)} ({around.within.n:,} texts of 20 tokens or more).")
        if around.unrelated and around.unrelated_norm:
            lines.append(
                f"**Tokens of unrelated texts.** With all tokens shuffled across texts $d_\\Sigma$ is "
                f"{caption_number(around.unrelated.value)} (estimated from {around.unrelated.n} "
                f"{around.unrelated.of}); most of that comes from shorter means: median length "
                f"{caption_number(around.unrelated_norm)} against {caption_number(around.norm)}.")
        lines += [widgets.plain(line) for line in (*around.missing, *result.meta["notes"])]
        st.markdown("\n\n".join(lines))
