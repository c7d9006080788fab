"""The texts and the published numbers in data/ are what data/README.md says they are."""

from __future__ import annotations

import csv
import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from components.charts.labelled_pairs import STYLES
from components.corpora import BUNDLED, DATA_DIR, load_corpus, load_pairs

README = (DATA_DIR / "README.md").read_text(encoding="utf-8")
RULE = DATA_DIR / "graded_rule.md"
REFERENCE = DATA_DIR / "reference"
STATED = re.findall(r"^\| `([\w./-]+)` \| ([\d–]+) \| (.+?) \| `([0-9a-f]{64})` \|$", README, re.MULTILINE)
STATED_TABLES = [(name, rows, columns) for name, rows, columns, _ in STATED if name.endswith(".csv")]

BERT, GTE, SIMCSE = "google-bert/bert-base-uncased", "thenlper/gte-base", "h-tomo/unsup-simcse-bert-base-uncased-mean"
LABELS = {"paraphrase": 18, "negation": 18, "role swap": 18, "changed number": 18, "same subject, another fact": 18,
          "unrelated": 18, "short against long": 18, "same words scrambled": 17, "one word against a paragraph": 17}
DENIALS = {"not", "no", "never", "nobody", "neither", "cannot", "unable"}
AMOUNTS = {"a", "tenth", "half", "one", "two", "three", "four", "five", "six", "seven", "nine", "eleven", "eighteen",
           "twenty", "thirty", "forty", "sixty", "eighty", "ninety", "hour", "hours"}
FUNCTION_WORDS = {"a", "an", "the", "to", "of", "in", "on", "and"}


def table(name: str) -> list[dict[str, str]]:
    with (DATA_DIR / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, strict=True))


def words(text: str) -> list[str]:
    return re.findall(r"\w+(?:'\w+)?", text.lower())


def length(text: str) -> int:
    return len(text.split())


def repeated(keys: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    return [key for key, n in Counter(keys).items() if n > 1]


def section(title: str) -> str:
    """README's text under a heading, up to the next heading of any level."""
    return re.split(r"^#+ ", README.split(f"# {title}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]


def meanings(text: str) -> list[str]:
    return re.findall(r"^\| `([^`]+)` \| (?=\S)", text, re.MULTILINE)


@pytest.fixture(scope="module")
def encyclopedia() -> list[dict[str, str]]:
    return table("encyclopedia.csv")


@pytest.fixture(scope="module")
def pairs() -> dict[str, list[tuple[str, str]]]:
    by_label = defaultdict(list)
    for row in table("pairs.csv"):
        by_label[row["label"]].append((row["text_a"], row["text_b"]))
    return dict(by_label)


@pytest.fixture(scope="module")
def models() -> list[dict[str, str]]:
    return table("reference/paper_models.csv")


@pytest.fixture(scope="module")
def curves() -> dict[tuple[str, str], dict[int, float]]:
    found: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    for row in table("reference/paper_layer_curves.csv"):
        layers = found[row["model_id"], row["quantity"]]
        assert int(row["layer"]) not in layers
        layers[int(row["layer"])] = float(row["value"])
    return dict(found)


class TestReadme:
    def test_lists_every_table_and_the_rule(self):
        present = {path.relative_to(DATA_DIR).as_posix() for folder in (DATA_DIR, REFERENCE, *(DATA_DIR / name for name in (
                       "nano", "passages", "long-documents")))
                   for path in folder.iterdir() if path.is_file()} - {"README.md"}
        assert {name for name, *_ in STATED} == present
        assert len(STATED) == len(present)

    @pytest.mark.parametrize(("name", "sha256"), [(name, sha256) for name, _, _, sha256 in STATED])
    def test_states_the_sha256(self, name: str, sha256: str):
        assert hashlib.sha256((DATA_DIR / name).read_bytes()).hexdigest() == sha256

    @pytest.mark.parametrize(("name", "rows", "columns"), STATED_TABLES)
    def test_states_rows_and_columns(self, name: str, rows: str, columns: str):
        found = table(name)
        assert len(found) == int(rows)
        assert list(found[0]) == re.findall(r"`(\w+)`", columns)
        assert all(value is not None and value == value.strip() and (value or column == "group")
                   for row in found for column, value in row.items())

    @pytest.mark.parametrize(("name", "rows", "columns"), STATED_TABLES)
    def test_gives_each_column_a_meaning(self, name: str, rows: str, columns: str):
        named = re.findall(r"`(\w+)`", columns)
        assert meanings(section(name.removeprefix("reference/")))[:len(named)] == named

    def test_gives_each_label_of_the_pairs_a_meaning_and_its_count(self, pairs):
        stated = re.findall(r"^\| `([^`]+)` \| (\d+) \| \S", section("pairs.csv"), re.MULTILINE)
        assert {label: int(count) for label, count in stated} == {label: len(rows) for label, rows in pairs.items()}

    @pytest.mark.parametrize("statement", [
        "CC0-1.0", "arXiv [2604.27398]", "arXiv [2605.29987]", "False statements are intended",
        "one annotator's judgement", "not proofread by a native speaker", "0.5 * sqrt(1e-9) * (dim - rank)",
        "(graded_rule.md)"])
    def test_says_what_a_reader_has_to_know(self, statement: str):
        assert statement in README

    def test_names_no_folder_of_a_writers_machine(self):
        for path in (DATA_DIR / "README.md", RULE, *REFERENCE.iterdir()):
            text = path.read_text(encoding="utf-8")
            assert not re.search(r"(?<![\w.])/(work|home|tmp|root|Users)\b|[A-Z]:\\|\bshared\b", text), path.name

    @pytest.mark.parametrize("name", [name for name, *_ in STATED])
    def test_files_have_plain_line_ends(self, name: str):
        data = (DATA_DIR / name).read_bytes()
        assert b"\r" not in data
        assert data.endswith(b"\n") and not data.endswith(b"\n\n")
        assert not data.startswith(b"\xef\xbb\xbf")


class TestEncyclopedia:
    def test_has_25_sentences_on_each_of_40_subjects(self, encyclopedia):
        subjects = [row["subject"] for row in encyclopedia]
        assert len(subjects) == 1000
        assert set(Counter(subjects).values()) == {25}
        assert sum(a != b for a, b in pairwise(subjects)) == 39, "rows of one subject stand together"

    def test_lengths_are_spread(self, encyclopedia):
        lengths = [length(row["text"]) for row in encyclopedia]
        assert min(lengths) >= 3
        assert max(lengths) <= 60
        low, high = np.percentile(lengths, [10, 90])
        assert low <= 9
        assert high >= 28
        assert re.findall(r"at most (\d+) words and a tenth at least (\d+)", README) == [(f"{low:.0f}", f"{high:.0f}")]

    def test_each_is_one_sentence(self, encyclopedia):
        for row in encyclopedia:
            assert re.fullmatch(r"[^\n\t]*[^\s.][.]", row["text"]), row["text"]
            assert "  " not in row["text"], row["text"]
            assert not re.search(r"[a-z]{3}[.!?] [A-Z]", row["text"]), row["text"]

    def test_no_two_are_the_same(self, encyclopedia):
        assert not repeated(tuple(words(row["text"])) for row in encyclopedia)

    def test_no_two_have_six_words_running_in_common(self, encyclopedia):
        runs = [{tuple(w[k:k + 6]) for k in range(len(w) - 5)} for w in (words(row["text"]) for row in encyclopedia)]
        assert not repeated(run for text in runs for run in text)

    def test_openings_differ(self, encyclopedia):
        openings = [tuple(words(row["text"])[:3]) for row in encyclopedia]
        assert not repeated(openings)  # as README says; less than 3 % would do

    def test_loads_by_its_name(self, encyclopedia):
        corpus = load_corpus("encyclopedia")
        assert corpus.texts == tuple(row["text"] for row in encyclopedia)
        assert corpus.labels == tuple(row["subject"] for row in encyclopedia)
        assert corpus.label_name == "subject"
        assert corpus.notes == ()
        assert corpus.source == BUNDLED["encyclopedia"].source


class TestPairs:
    def test_counts_by_label_and_language(self):
        found = Counter((row["label"], row["language"]) for row in table("pairs.csv"))
        assert found == {**{(label, "en-en"): n for label, n in LABELS.items()},
                         ("translation ko-en", "ko-en"): 20, ("translation nl-en", "nl-en"): 20}
        assert sum(LABELS.values()) == 160

    def test_no_text_occurs_twice(self):
        texts = [text for row in table("pairs.csv") for text in (row["text_a"], row["text_b"])]
        assert len(set(texts)) == 400

    def test_scrambled_pairs_have_the_same_words_in_another_order(self, pairs):
        for a, b in pairs["same words scrambled"]:
            assert sorted(words(a)) == sorted(words(b)), a
            assert not set(zip(words(a), words(a)[1:], words(a)[2:], words(a)[3:], strict=False)).intersection(
                zip(words(b), words(b)[1:], words(b)[2:], words(b)[3:], strict=False)), f"four words kept in order: {b}"

    def test_one_word_stands_against_a_paragraph(self, pairs):
        for a, b in pairs["one word against a paragraph"]:
            assert length(a) == 1
            assert length(b) >= 50
            assert len(re.findall(r"[.!?](?= |$)", b)) >= 3, b

    def test_short_stands_against_long(self, pairs):
        for a, b in pairs["short against long"]:
            assert 2 <= length(a) <= 8, a
            assert length(b) >= 30, b

    def test_negations_add_one_denial(self, pairs):
        for a, b in pairs["negation"]:
            denials = [sum(w in DENIALS or w.endswith("n't") for w in words(text)) for text in (a, b)]
            assert denials[1] == denials[0] + 1, b
            assert (Counter(words(a)) - Counter(words(b))).total() <= 2, b

    def test_swapped_roles_change_one_word_at_most(self, pairs):
        for a, b in pairs["role swap"]:
            assert words(a) != words(b)
            first, second = (Counter(words(text.replace("'s", " 's"))) for text in (a, b))
            assert (first - second).total() <= 1, b
            assert (second - first).total() <= 1, b

    def test_changed_numbers_change_nothing_else(self, pairs):
        for a, b in pairs["changed number"]:
            first, second = Counter(words(a)) - Counter(words(b)), Counter(words(b)) - Counter(words(a))
            assert first and second, b
            assert all(w in AMOUNTS or re.match(r"\d", w) for w in [*first, *second]), (first, second)

    def test_paraphrases_are_worded_anew(self, pairs):
        for a, b in pairs["paraphrase"]:
            common = (Counter(words(a)) & Counter(words(b))).total()
            assert common <= 0.6 * min(len(words(a)), len(words(b))), (a, b)

    def test_another_fact_is_about_a_thing_both_name(self, pairs):
        for a, b in pairs["same subject, another fact"]:
            stems = [{w[:4] for w in words(text) if len(w) > 2} - {"the", "and", "that", "this"} for text in (a, b)]
            assert stems[0] & stems[1], (a, b)

    def test_unrelated_texts_have_only_function_words_in_common(self, pairs):
        for a, b in pairs["unrelated"]:
            assert set(words(a)) & set(words(b)) <= FUNCTION_WORDS, (a, b)

    def test_translations_are_in_the_languages_named(self):
        for row in table("pairs.csv"):
            korean = bool(re.search("[가-힣]", row["text_a"]))
            assert korean == (row["language"] == "ko-en"), row["text_a"]
            assert not re.search("[가-힣]", row["text_b"]), row["text_b"]
            if row["language"] == "nl-en":
                assert not {"the", "and", "with"} & set(words(row["text_a"])), row["text_a"]

    def test_load_by_their_name(self):
        loaded = load_pairs("pairs")
        assert (loaded.texts_a[0], loaded.texts_b[0]) == tuple(table("pairs.csv")[0][c] for c in ("text_a", "text_b"))
        assert loaded.labels == tuple(row["label"] for row in table("pairs.csv"))
        # A model may know one language and not the other, so that one label would mix two answers.
        assert set(loaded.labels) == set(STYLES), "every label has its own mark in the legend, and no mark is unused"
        assert loaded.notes == ()


class TestGraded:
    def test_every_score_occurs_33_or_34_times(self):
        counts = Counter(row["score"] for row in table("graded.csv"))
        assert set(counts) == set("012345")
        assert set(counts.values()) == {33, 34}
        assert counts.total() == 200

    def test_the_rule_has_an_entry_for_each_grade(self):
        entries = re.findall(r"^- \*\*(\d)\*\* – (?=[A-Z]\w+ )", RULE.read_text(encoding="utf-8"), re.MULTILINE)
        assert entries == list("543210")

    def test_no_pair_occurs_twice(self):
        rows = table("graded.csv")
        assert len({frozenset((row["text_a"], row["text_b"])) for row in rows}) == 200
        assert all(row["text_a"] != row["text_b"] for row in rows)

    def test_load_by_their_name(self):
        loaded = load_pairs("graded")
        assert loaded.labels == tuple(row["score"] for row in table("graded.csv"))
        assert loaded.texts_a == tuple(row["text_a"] for row in table("graded.csv"))
        assert loaded.texts_b == tuple(row["text_b"] for row in table("graded.csv"))
        assert loaded.notes == ()


class TestReference:
    """The numbers that the two papers and the SOCM authors' code give, and what follows from them."""

    @staticmethod
    def socm_and_mteb(models: list[dict[str, str]], kind: str = "") -> tuple[list[float], list[float]]:
        kept = [row for row in models if kind in ("", row["kind"])]
        return [float(row["mean_socm_wiki"]) for row in kept], [float(row["mteb_eng_v2"]) for row in kept]

    def test_spearman_of_socm_and_mteb_is_the_published_one(self, models):
        found = spearmanr(*self.socm_and_mteb(models))
        assert found.statistic == pytest.approx(-0.678, abs=5e-4)
        assert found.pvalue == pytest.approx(0.015, abs=5e-4)

    @pytest.mark.parametrize(("kind", "n", "rho", "p"), [("contrastive", 8, -0.69, 0.058), ("backbone", 4, 0.40, None)])
    def test_spearman_within_a_kind(self, models, kind, n, rho, p):
        socm, mteb = self.socm_and_mteb(models, kind)
        assert len(socm) == n
        assert spearmanr(socm, mteb).statistic == pytest.approx(rho, abs=5e-3)
        assert p is None or spearmanr(socm, mteb).pvalue == pytest.approx(p, abs=5e-4)

    def test_pearson_says_less(self, models):
        found = pearsonr(*self.socm_and_mteb(models))
        assert found.statistic == pytest.approx(-0.456, abs=2e-3)  # MTEB is read to 0.001
        assert found.pvalue == pytest.approx(0.14, abs=5e-3)

    def test_means_of_the_authors_notebooks(self, models):
        wiki = {row["model_id"]: row["mean_socm_wiki"] for row in models}
        assert (wiki[BERT], wiki[GTE]) == ("0.39616109", "0.01751971")
        assert float(wiki["sentence-transformers/all-mpnet-base-v2"]) == pytest.approx(0.1003, abs=5e-5)
        assert all(re.fullmatch(r"0\.\d{7,8}", row[column]) for row in models for column in row if "socm" in column)

    def test_models_are_four_families_led_by_their_backbone(self, models):
        assert len({row["model_id"] for row in models}) == 12
        assert Counter(row["family"] for row in models) == {"BERT": 4, "MiniLM": 4, "MPNet": 2, "nomic-bert": 2}
        assert Counter(row["family"] for row in models if row["kind"] == "backbone").total() == 4
        assert all(int(row["dim"]) == (384 if row["family"] == "MiniLM" else 768) for row in models)

    def test_contrastive_tuning_does_not_always_lower_socm(self, models):
        backbone = {row["family"]: row for row in models if row["kind"] == "backbone"}
        risen = {(row["model_id"].split("/")[1], column.removeprefix("mean_socm_")) for row in models
                 if row["kind"] == "contrastive" for column in ("mean_socm_wiki", "mean_socm_msmarco")
                 if float(row[column]) > float(backbone[row["family"]][column])}
        assert risen == {("all-MiniLM-L12-v2", "wiki"), ("all-MiniLM-L12-v2", "msmarco"),
                         ("nomic-embed-text-v1.5", "msmarco")}

    def test_the_bias_leaves_the_order_as_it_is(self, models):
        bias = {dim: 0.5 * np.sqrt(1e-9) * (dim - 23) for dim in (384, 768)}
        assert bias[768] == pytest.approx(0.0118, abs=5e-5)
        assert bias[384] == pytest.approx(0.0057, abs=5e-5)
        published = [float(row["mean_socm_wiki"]) for row in models]
        assert np.argsort(published).tolist() == np.argsort(
            [value + bias[int(row["dim"])] for value, row in zip(published, models, strict=True)]).tolist()

    def test_every_curve_has_twelve_layers_of_a_listed_model(self, curves, models):
        assert all(sorted(layers) == list(range(1, 13)) for layers in curves.values())
        assert {model for model, _ in curves} <= {row["model_id"] for row in models}
        assert {quantity for _, quantity in curves} == {"lambda", "r", "C", "normalized_spread", "mean_cosine"}

    def test_last_layers_as_published(self, curves):
        assert (curves[GTE, "normalized_spread"][12], curves[BERT, "normalized_spread"][12]) == (0.086, 1.637)
        assert curves[GTE, "C"][12] == pytest.approx(0.34, abs=5e-3)
        assert curves[BERT, "C"][12] == pytest.approx(1.30, abs=5e-3)

    def test_lambda_stays_below_one_and_is_higher_for_gte_from_layer_5(self, curves):
        assert all(value < 1 for (_, quantity), layers in curves.items() if quantity == "lambda"
                   for value in layers.values())
        assert all(curves[GTE, "lambda"][layer] > curves[BERT, "lambda"][layer] for layer in range(5, 13))

    def test_published_pair(self):
        found = {(row["model_id"], row["source"]): row["socm"] for row in table("reference/published_pair.csv")}
        assert found == {(BERT, "paper"): "0.618", (GTE, "paper"): "0.024",
                         (BERT, "notebook"): "0.6116", (GTE, "notebook"): "0.0170"}

    def test_mic_gains_over_mrl(self):
        gain = {(row["task"], row["dim"]): float(row["mic"]) - float(row["mrl"])
                for row in table("reference/mic_bert_base.csv")}
        assert len(gain) == 7
        assert gain["TweetEval", "16"] == pytest.approx(0.17)
        for (task, _), value in gain.items():
            if task == "Banking77" or task.startswith("STS"):
                assert 5.5 <= value <= 13.5, task
