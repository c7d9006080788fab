"""Models of one's own in the picker: allowed on one's own machine, refused on a hosted one, and no path in any link."""

from __future__ import annotations

import shutil

import pytest

from app import resources
from app.settings import Settings, settings
from components.models import MODELS_DIR
from tests.app.pages import open_page
from tests.app.test_data_page import errors

pytestmark = pytest.mark.usefixtures("fresh_caches", "own_store")


@pytest.fixture
def folder(tmp_path):
    return shutil.copytree(MODELS_DIR / "nano-mrl", tmp_path / "secret place" / "my-model")


def name(page, wanted):
    page.text_input(key="model_wanted").input(str(wanted)).run()
    assert not page.exception
    return page


def test_a_folder_is_added_and_chosen_and_a_link_names_it_without_its_path(folder):
    page = name(open_page("map", {}), folder)
    assert page.selectbox(key="model").value == "my-model" and not page.error
    assert "secret" not in str(dict(page.query_params)) and page.button[0].label.startswith("Compute 499,500 pairs")
    again = open_page("layers", {"model": "my-model"})
    assert again.selectbox(key="model").value == "my-model", "the menu is this server's until it ends"
    name(again, folder)
    assert list(resources.model_names()).count("my-model") == 1


@pytest.mark.parametrize(("wanted", "said"), [
    ("/no/such/folder", "no such folder"), ("..", "must hold a config.json"), ("a b c", "must be a folder or an id"),
    ("x" * 400, "must be a folder or an id"), ("~nobody-here/x", "a home folder of nobody"),
    ("/" + "x" * 400, "no such folder"), ("owner/not-there", "downloads are off (HF_HUB_OFFLINE)"),
    ("<script>alert(1)</script>", "must be a folder"),
    ("/etc/passwd", "a file"), ("a\0b", "must be a name")])
def test_what_is_no_model_is_a_sentence_and_the_menu_as_before(wanted, said):
    page = open_page("map", {})
    before = page.selectbox(key="model").options
    name(page, wanted)
    assert len(errors(page)) == 1 and said in errors(page)[0] and page.selectbox(key="model").options == before
    page.run()
    assert not page.error


def test_pickled_weights_are_refused(tmp_path, folder):
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    assert "which can run code when opened" in errors(name(open_page("map", {}), folder))[0]


def test_an_id_that_is_not_cached_is_fetched_only_when_asked(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    page = name(open_page("map", {}), "owner/not-there")
    assert page.button[0].label == "Fetch owner/not-there from the Hugging Face hub" and not page.error


def test_hosted_servers_show_a_fixed_list(monkeypatch, folder):
    monkeypatch.setenv("POOLSCOPE_HOSTED", "true")
    settings.cache_clear()
    page = open_page("map", {"model": str(folder)})
    assert not page.text_input and page.selectbox(key="model").value == "all-MiniLM-L6-v2"
    said = [info.value for info in page.info if "does not have" in info.value]
    assert len(said) == 1 and str(folder) not in said[0], "said once, and no path of a link is repeated"
    with pytest.raises(Exception, match="must be one that this server offers"):
        resources.add_model(str(folder))


def test_who_may_name_models():
    def allowed(address, **given):
        return Settings(**given).models_allowed(address)

    assert allowed("127.0.0.1") and allowed("localhost") and allowed("::1")
    assert not allowed("0.0.0.0") and not allowed("") and not allowed(None) and not allowed("192.168.0.2")
    assert allowed("0.0.0.0", allow_models=True) and not allowed("127.0.0.1", allow_models=False)
    assert not allowed("127.0.0.1", hosted=True) and allowed("0.0.0.0", hosted=True, allow_models=True)
