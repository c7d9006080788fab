"""The audit's own words, for pages and commands."""

from __future__ import annotations

VERDICT_WORDS = {"clean": "Clean", "departs": "Departs", "unknown": "Could not tell"}
VERDICT_SENTENCES = {"clean": "Nothing to change.", "departs": "Something differs from what is declared; below is what to change.",
                     "unknown": "What was given does not decide it."}
STATUS_WORDS = {"same": "agrees", "differs": "departs", "not stated": "the files do not say", "a choice": "your choice",
                "missing": "nobody says", "as the files say": "as the files say"}
OUTCOME_WORDS = {"one": "one setting", "unmasked": "unmasked mean", "shuffled": "rows moved", "mixed": "several settings",
                 "partly": "some rows only", "none": "none found"}
