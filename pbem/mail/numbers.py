"""Numbers as people write them in words, in the languages of the server."""

from __future__ import annotations

from typing import Final

_ENGLISH: Final = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen twenty"
)
_FRENCH: Final = (
    "un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze "
    "seize dix-sept dix-huit dix-neuf vingt"
)

NUMBER_WORDS: Final = {
    word: nth for words in (_ENGLISH, _FRENCH) for nth, word in enumerate(words.split(), 1)
}
