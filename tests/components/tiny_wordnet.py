"""A dozen synsets in the format of WordNet's data files, written by hand, and synsets made by the hundred."""

from __future__ import annotations

from pathlib import Path

from components.nano_text import Synset

HEADER = "  1 This software and database is being provided to you, the LICENSEE, by  \n  2 Princeton University  \n"
FILES = {
    "data.noun": [
        "00001740 03 n 01 entity 0 002 ~ 00001930 n 0000 ~ 00004475 n 0000 | that which is known to exist  ",
        "00001930 03 n 02 physical_entity 0 thing 0 001 @ 00001740 n 0000 | an entity that has physical existence  ",
        '00004475 03 n 02 organism 0 being 0 002 @ 00001930 n 0000 + 02614181 v 0201 | a living thing; "every being eats"  ',
        '02084071 05 n 03 dog 0 domestic_dog 0 Canis_familiaris 0 001 @ 00004475 n 0000 | a tame animal that barks; '
        '"the dog barked all night"; "a domestic dog needs walks"  ',
        "07157273 10 n 02 slang 0 cant 0 001 -u 10153155 n 0000 | informal words of a group  ",
        '10153155 18 n 01 guvnor 0 002 @ 00004475 n 0000 ;u 07157273 n 0000 | a boss; "ask the guvnor about it"  ',
        '10624540 18 n 0c a1 0 a2 0 a3 0 a4 0 a5 0 a6 0 a7 0 a8 0 a9 0 b1 0 b2 0 b3 f 000 | twelve words, counted in hexadecimal  ',
        '10906048 18 n 02 Comstock 0 Anthony_Comstock 0 001 @i 00004475 n 0000 | a reformer; "no one is safe"- A. Writer; '
        '"a `modern\' one"  ',
    ],
    "data.verb": ['00001740 29 v 02 breathe 0 take_a_breath 0 001 $ 00002325 v 0000 02 + 02 00 + 08 00 | draw air in and out;  '
                  '"I can breathe better when the air is clean"  '],
    "data.adj": ['00056002 00 a 02 galore(ip) 0 abounding 0 001 & 00056003 a 0000 | existing in abundance: "whisky galore"  ',
                 '00056003 00 s 01 aplenty(a) 0 000 | (usually after a noun) in great supply  '],
    "data.adv": ["00001981 02 r 01 barely 0 001 ! 00002029 r 0101 | only a very short time before  "],
}


def write(folder: Path) -> Path:
    """The folder with the four files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in FILES.items():
        (folder / name).write_text(HEADER + "\n".join(lines) + "\n", "utf-8")
    return folder


def many(n: int) -> list[Synset]:
    """n synsets with two words, two examples and the one before as hypernym; each text occurs once."""
    return [Synset(f"n{k:08d}", (f"alpha{k}", f"beta{k}"), f"the gloss of number {k}",
                   (f"they saw alpha{k} in the morning", f"an alpha{k} is never far away"),
                   (f"n{k - 1:08d}",) if k else ()) for k in range(n)]
