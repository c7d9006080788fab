"""Controls and states that more than one page shows, so that waiting, missing and failed look the same everywhere."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata

import streamlit as st

from app import hosted, links, navigation, presence, resources, results, state, theme, uploads
from app.menus import pick as pick
from app.results import Request
from app.settings import settings
from app.words import plain as plain
from components.charts.style import caption_number, interval_text
from components.errors import ModelError, PoolscopeError
from components.models import EMBEDDED, layer_count
from components.pair_map import PairOptions
from components.types import FINAL, Interval, Layer

FIGURE_HEIGHT = 560
_WANTED = "_model_wanted"


def version() -> str:
    """Poolscope's own version, for exports."""
    try:
        return metadata.version("poolscope")
    except metadata.PackageNotFoundError:  # run from its folder without being installed, as on Community Cloud
        found = tomllib.loads((navigation.FOLDER.parent / "pyproject.toml").read_text("utf-8"))["project"]["version"]
        return str(found)


def hosted_notice() -> None:
    """In the sidebar of a hosted server, ahead of a page that may stop early: what is limited, and how to run it oneself."""
    if settings().hosted or not hosted.can_compute():
        with st.sidebar.expander("This is a demo server"):
            st.markdown(plain(hosted.limits()))
            st.markdown("Yours has no such limits and takes any model and text. With Python 3.11 or newer, in a copy of the project:")
            st.code(hosted.RUN_IT, language="bash", wrap_lines=True)


def house_style() -> None:
    """The few rules that the theme cannot express: figures in columns of equal width, room on a phone."""
    # White on the dark theme's accent has 2.3:1; its ground has 8:1.
    if st.context.theme.type == "dark":
        st.html("<style>[data-testid=stBaseButton-primary] p, [data-baseweb=tag] * { color: #0F1318 !important; }</style>")
    secondary, accent = theme.current().secondary, theme.current().accent
    # Streamlit pales captions to 4.4:1 on white, and draws what is not chosen in a hairline.
    st.html(f"""<style>
    [data-testid=stCaptionContainer] {{ opacity: 1; color: {secondary}; }}
    [data-testid=stCaptionContainer] p {{ color: {secondary}; }}
    [data-testid=stRadioOption]:not([data-selected=true]) > div > div:first-child {{ border-color: {secondary}; }}
    [data-testid=stCheckbox] label:has([role=switch]:not(:checked)) > div:first-of-type {{ background-color: {secondary}; }}
    .house-link {{ color: {accent}; text-decoration: underline; }}
    [data-testid=stDownloadButton] button:focus-visible {{ outline: 2px solid {accent}; outline-offset: 2px; }}
    [data-testid=stDataFrame]:has(canvas:focus-visible) {{ outline: 2px solid {accent}; outline-offset: 1px; }}
    </style>""")
    st.html("""<style>
    [data-testid=stMetricValue] { font-variant-numeric: tabular-nums; line-height: 1.25; }
    [data-testid=stMainBlockContainer] { max-width: 1280px; padding-top: 3.25rem; }
    :is(.st-key-headline, .st-key-halves, .st-key-edited) [data-testid=stColumn] [data-testid=stVerticalBlock] { gap: 0.15rem; }
    [data-testid=stCaptionContainer] p { line-height: 1.4; }
    :is(.st-key-headline, .st-key-halves, .st-key-edited) [data-testid=stMetricLabel] :is([data-testid=stMarkdownContainer], p) {
      white-space: normal; overflow: visible; }
    .js-plotly-plot .modebar:focus-within { opacity: 1; }
    .js-plotly-plot .hoverlayer text { font-variant-numeric: tabular-nums; }
    @media (max-width: 640px) {
      :is(.st-key-headline, .st-key-halves, .st-key-edited) [data-testid=stColumn] {
        min-width: calc(50% - 1rem); flex: 1 1 calc(50% - 1rem); }
      [data-testid=stMainBlockContainer] { padding-left: 1rem; padding-right: 1rem; }
    }
    </style>""")


@contextmanager
def sentences() -> Iterator[None]:
    """Shows a user's error as its sentence and ends the page there."""
    try:
        yield
    except PoolscopeError as error:
        st.error(plain(hosted.without_paths(str(error))))
        st.stop()


def choose_corpus(states: bool = False) -> str:
    """The corpus, from the menu; a name in a link that is not there falls back to the first.

    Args:
        states: the page can show token states of one's own, too.
    """
    names = [name for name in resources.corpus_names() if states or not uploads.is_states(name)]
    name = pick("Texts", names, key=state.CORPUS, help_="Every pair of these texts is compared.", missing="texts that this server")
    if own := uploads.own().get(name):
        _say_own(own)
    return name


def choose_set() -> str:
    """Queries with documents, from the menu; a name in a link that is not there falls back to the first."""
    name = pick("Queries and documents", resources.retrieval_sets(), key=state.SET, missing="queries and documents that this server",
                help_="Questions, the documents that answer them, and all other documents to be told apart. Sets of your own come "
                      "from the page Your data.")
    if own := uploads.own().get(name):
        _say_own(own)
    return name


def _say_own(own: uploads.Own) -> None:
    st.sidebar.caption(f"Your own, {plain(own.kind.lower())}: in this session's memory only, and in no link.")


def choose_model() -> str:
    if wanted := st.session_state.get(_WANTED):
        _await_model(str(wanted))
    more = "Add your own below." if resources.models_allowed() else "The owner of this server says which there are."
    name = pick("Model", list(resources.model_names()), key=state.MODEL, missing="a model that this server",
                help_=f"{EMBEDDED} comes with Poolscope. {more}")
    if resources.models_allowed():
        with st.sidebar.popover("Add a model", width="stretch"):
            st.text_input("Hugging Face id or folder, then Enter", key="model_wanted", max_chars=500, on_change=_want_model,
                          help="An id like owner/name, from the local cache or, when you say so, from the hub; or a folder of this "
                               "machine. Weights as safetensors; no code of the model's is run.")
    return name


def _want_model() -> None:
    """Callback: the run that follows looks for the model typed, and chooses it or says why not."""
    st.session_state[_WANTED] = str(st.session_state["model_wanted"]).strip() or None


def _await_model(wanted: str) -> None:
    """A model that is not here yet: what is wrong with the name, or the button that fetches it."""
    try:
        st.session_state[state.MODEL] = resources.add_model(wanted)
        st.session_state[_WANTED] = None
    except PoolscopeError as error:
        # Requests leave the machine only when somebody presses the button.
        if error.found == "not in the local cache" and isinstance(error, ModelError):
            compute_or_wait(results.fetch_request(wanted), height=180)
        else:
            st.error(plain(str(error)))
            st.session_state[_WANTED] = None


def choose_setting() -> tuple[str, str, PairOptions]:
    """Texts, model and options of pairs; token states of one's own have no model, layer or special tokens to choose."""
    corpus_name = choose_corpus(states=True)
    if uploads.is_states(corpus_name):
        return corpus_name, uploads.OWN_STATES, PairOptions()
    model_name = choose_model()
    return corpus_name, model_name, PairOptions(layer=choose_layer(model_name), special_tokens=choose_special())


def choose_layer(model_name: str, key: str = state.LAYER, label: str = "Layer") -> Layer:
    """A layer of the model, or "final": what pooling sees."""
    layers = [*map(str, range(layer_count(results.model(model_name)) + 1)), FINAL]
    links.say_missing("a layer that this model", key, layers, FINAL)
    chosen = st.sidebar.select_slider(label, layers, value=FINAL, key=key, bind="query-params",
                                      help="0 is the embedding output; final is what pooling sees.")
    return FINAL if chosen == FINAL else int(chosen)


def choose_special() -> bool:
    return bool(st.sidebar.toggle("Special tokens", value=True, key=state.SPECIAL, bind="query-params",
                                  help="Whether [CLS] and [SEP] count as tokens of a text, as they do in the paper."))


def choose_row(label: str, last: int, usual: int, key: str) -> int:
    """A row of the texts, counted from 0; a link's row that there is not (of other texts, say) is said to be none."""
    asked, refused = st.query_params.get(key, ""), f"_{key}_refused"
    if asked.isdecimal() and int(asked[:9]) > last:
        st.session_state[refused] = (asked[:9], last)
    try:
        row = int(st.sidebar.number_input(label, 0, last, usual, key=key, bind="query-params"))
    except OverflowError:
        # Streamlit makes a whole number of what a link says before it looks at the ends: 1e999 is infinite.
        row = int(st.sidebar.number_input(label, 0, last, usual, key=f"{key}_unbound"))
    if said := st.session_state.get(refused):
        if (row, last) == (usual, said[1]):  # until another row or other texts are chosen
            st.sidebar.caption(f"Row {said[0]} is none of these texts (0 to {last}); row {row} is shown.")
        else:
            del st.session_state[refused]
    return row


def chosen() -> dict[str, str]:
    """What the controls above are set to, for a link; without what is the default anyway.

    Streamlit takes defaults out of an address and enters the shorter one into the history, which Back would then show.
    """
    usual = {state.CORPUS: next(iter(resources.corpus_files())), state.MODEL: EMBEDDED, state.LAYER: FINAL, state.SPECIAL: "true"}
    there = {key: st.session_state.get(key, value) for key, value in usual.items()}  # a page need not have all of them
    now = {key: str(value).lower() if key == state.SPECIAL else str(value) for key, value in there.items()
           if value not in uploads.own()}
    return {key: value for key, value in now.items() if value != usual[key]}


def open_pair(label: str, a: int, b: int) -> None:
    """Leads to the Pair page with two rows of the corpus: a link, or within the session where the texts live only in it."""
    rows = {"a": (a, state.ROW_A), "b": (b, state.ROW_B)}
    if st.session_state.get(state.CORPUS) not in uploads.own():
        navigation.link("pair", label, chosen() | {key: str(row) for key, (row, usual) in rows.items() if row != usual})
    else:  # a link that loads the page anew would end the session
        st.page_link(navigation.page("pair"), label=label, query_params={"a": str(a), "b": str(b)})


def number(column: st.delta_generator.DeltaGenerator, label: str, value: float | None, below: str, help_: str) -> None:
    """A headline number: what it is, three digits, and under it what it rests on."""
    column.metric(label, caption_number(value), help=help_)
    column.caption(below)


def spread_of(interval: Interval | None) -> str:
    """An interval for a caption: brackets and what it is over, or why there is none."""
    if interval is None:
        return "not given for these texts"
    if interval.low is None:
        return f"no interval below 6 {interval.of}"
    return f"{interval_text(interval.low, interval.high)} over {interval.n:,} {interval.of}"


def compute_or_wait(request: Request, height: int = FIGURE_HEIGHT) -> None:
    """In place of a figure whose result is not stored: the button that starts it, its progress, or why it failed."""
    job = resources.jobs().get(request.job_key)
    if job is not None and job.snapshot().active:
        if not st.session_state.get(f"_left_{job.id}"):
            presence.note(state.watcher())
            resources.jobs().join(request.job_key, state.watcher())
        _progress(request, height)
        return
    if not hosted.can_compute():
        _cannot_compute(height)
        return
    with st.container(height=height, border=True, horizontal_alignment="center", vertical_alignment="center"):
        label = request.action + (f", about {rounded(request.seconds)}" if request.seconds else "")
        if job is not None and job.snapshot().state == "failed":
            st.error(plain(hosted.without_paths(job.snapshot().sentence)))
            label = f"Try again: {request.action[0].lower()}{request.action[1:]}"
        elif job is not None and job.snapshot().state == "cancelled":
            st.markdown("Cancelled; nothing was stored.", text_alignment="center")
        else:
            st.markdown("Not in this machine's cache." if request.task == "fetch_model" else
                        "Not computed yet. The result is kept with your session, and goes with it." if request.owner else
                        "Not computed yet on this server. The result is kept, for every visitor.", text_alignment="center")
        # A callback, so that the run that follows already finds the job.
        st.button(label, type="primary", on_click=_start, args=(request,), key=f"compute_{request.key.digest[:12]}")
        if problem := st.session_state.pop("_start_problem", None):
            st.error(plain(problem))


def _cannot_compute(height: int) -> None:
    """Where the installation has no torch: what is missing, and how to get what is asked for."""
    with st.container(height=height, border=True, horizontal_alignment="center", vertical_alignment="center"):
        st.markdown("This view is not stored here, and this server cannot compute it: PyTorch is not installed. Choose one of the "
                    "texts and models that come with Poolscope at their final layer, or run Poolscope yourself:",
                    text_alignment="center")
        st.code(hosted.RUN_IT, language="bash", wrap_lines=True)


def _start(request: Request) -> None:
    try:
        results.start(request, state.watcher())
    except PoolscopeError as error:
        st.session_state["_start_problem"] = hosted.without_paths(str(error))


@st.fragment(run_every=0.5)
def _progress(request: Request, height: int) -> None:
    registry = resources.jobs()
    job = registry.get(request.job_key)
    now = job.snapshot() if job is not None else None
    if job is None or now is None or not now.active:
        st.rerun()
    place = registry.place(job)
    with st.container(height=height, border=True, horizontal_alignment="center", vertical_alignment="center"):
        if place:
            wait = registry.wait_seconds(job)
            until = f", about {rounded(wait)} until its turn" if wait is not None else ""
            st.markdown(f"Waiting: number {place} in line{until}.", text_alignment="center")
        else:
            count = f" {now.done:,} of {now.total:,}" if now.total else ""
            left = f", about {rounded(now.seconds_left)} left" if now.seconds_left is not None else ""
            st.progress(now.done / now.total if now.total else 0.0, width=420,
                        text=f"{plain(now.stage) or 'Starting'}{count}{left}")
        for note in now.notes:
            st.caption(plain(hosted.without_paths(note)))
        if st.session_state.get(f"_left_{job.id}"):
            st.caption("Others wait for this too, so it goes on without you.")
            return
        if st.button("Cancel", key=f"cancel_{request.key.digest[:12]}"):
            st.session_state[f"_left_{job.id}"] = not registry.cancel(request.job_key, state.watcher())
            st.rerun()


def rounded(seconds: float) -> str:
    """Seconds or minutes for a sentence, no finer than an estimate is."""
    if seconds < 90:
        return f"{max(1, round(seconds) if seconds < 10 else round(seconds / 5) * 5)} s"
    return f"{round(seconds / 60)} min"
