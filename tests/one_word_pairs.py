"""Pairs of sentences that differ in one word, each with the question that it answers and its neighbour does not.

Made by hand for this purpose. A pair stands in one document, between other sentences; `SECTIONS` are pairs that only
their headings tell apart. A pair whose question has an even hash was looked at while the reader was made; the others
were kept for the test.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True)
class Pair:
    """Two sentences with the question that each answers; the document's title and what else it says."""

    title: str
    first: str
    second: str
    asks_first: str
    asks_second: str
    between: str = ""

    @property
    def text(self) -> str:
        """The document, with one of the two before the other by their hash."""
        parts = [self.first, self.second] if _hash(self.first) % 4 < 2 else [self.second, self.first]
        return "\n\n".join(part for part in (parts[0], self.between, parts[1]) if part)

    @property
    def kept(self) -> bool:
        """Whether it was kept for the test."""
        return _hash(self.asks_first) % 2 == 1


def _hash(text: str) -> int:
    return int(hashlib.sha256(text.encode()).hexdigest(), 16)


DENIED = [
    Pair("Ferries of the lake", "The morning ferry carries cars.", "The evening ferry does not carry cars.",
         "Which ferry carries cars?", "Which ferry does not carry cars?", "Bicycles are free on all ferries."),
    Pair("Alloys in stock", "Alloy Verin contains lead.", "Alloy Toska contains no lead.",
         "Which alloy contains lead?", "Which alloy contains no lead?", "Both are sold in bars."),
    Pair("House rules", "Guests in the annex may smoke.", "Guests in the tower may not smoke.",
         "Which guests may smoke?", "Which guests may not smoke?", "Breakfast is at eight."),
    Pair("Library rooms", "Food is allowed in the north reading room.", "Food is not allowed in the map room.",
         "In which room is food allowed?", "In which room is food not allowed?"),
    Pair("Vaccines", "The Arvex vaccine must be kept frozen.", "The Bolvax vaccine need not be kept frozen.",
         "Which vaccine must be kept frozen?", "Which vaccine need not be kept frozen?", "Both come in vials."),
    Pair("Staff handbook", "Interns are paid for overtime.", "Directors are never paid for overtime.",
         "Who is paid for overtime?", "Who is never paid for overtime?"),
    Pair("Pumps", "Pump P-11 failed the pressure test.", "Pump P-12 did not fail the pressure test.",
         "Which pump failed the pressure test?", "Which pump did not fail the pressure test?"),
    Pair("Apples of the region", "The Hana apple keeps until spring.", "The Rubin apple does not keep until spring.",
         "Which apple keeps until spring?", "Which apple does not keep until spring?", "Both ripen in October."),
    Pair("Trains", "The express train stops at Hallein.", "The night train doesn't stop at Hallein.",
         "Which train stops at Hallein?", "Which train doesn't stop at Hallein?"),
    Pair("Contracts", "The lease with Orbis can be cancelled early.", "The lease with Nadir cannot be cancelled early.",
         "Which lease can be cancelled early?", "Which lease cannot be cancelled early?"),
    Pair("Bacteria", "Strain K4 grows without oxygen.", "Strain M7 does not grow without oxygen.",
         "Which strain grows without oxygen?", "Which strain does not grow without oxygen?"),
    Pair("Paints", "The blue paint is sold with a primer.", "The grey paint is sold without a primer.",
         "Which paint is sold with a primer?", "Which paint is sold without a primer?"),
    Pair("Flats to let", "The flat in Oak Street has a balcony.", "The flat in Elm Street has no balcony.",
         "Which flat has a balcony?", "Which flat has no balcony?", "Heating is included in both."),
    Pair("Members", "Anna Kettler voted for the budget.", "Jan Holub did not vote for the budget.",
         "Who voted for the budget?", "Who did not vote for the budget?"),
    Pair("Mountain passes", "The Furka pass is open in winter.", "The Susten pass is not open in winter.",
         "Which pass is open in winter?", "Which pass is not open in winter?"),
    Pair("Software licences", "The Basic licence includes support.", "The Free licence lacks support.",
         "Which licence includes support?", "Which licence lacks support?", "Both run on two machines."),
    Pair("School trips", "Class 6a will visit the mine.", "Class 6b will not visit the mine.",
         "Which class will visit the mine?", "Which class will not visit the mine?"),
    Pair("Cables", "The red cable is insulated.", "The green cable is uninsulated.",
         "Which cable is insulated?", "Which cable is uninsulated?"),
    Pair("Wines", "The Lipar wine is aged in oak.", "The Sorin wine is never aged in oak.",
         "Which wine is aged in oak?", "Which wine is never aged in oak?"),
    Pair("Fish in the pond", "Carp are protected by the bylaw.", "Pike are not protected by the bylaw.",
         "Which fish are protected by the bylaw?", "Which fish are not protected by the bylaw?"),
    Pair("Suppliers", "Norvik still delivers on Saturdays.", "Ostrand no longer delivers on Saturdays.",
         "Who still delivers on Saturdays?", "Who no longer delivers on Saturdays?"),
    Pair("Waste", "Glass is collected on Mondays.", "Every kind of waste except batteries is collected on Fridays.",
         "What is collected on Mondays?", "What is not collected on Fridays?"),
    Pair("Drug interactions", "Darolin may be taken with milk.", "Felaxin may not be taken with milk.",
         "Which drug may be taken with milk?", "Which drug may not be taken with milk?"),
    Pair("Bridges", "The stone bridge survived the flood.", "The iron bridge did not survive the flood.",
         "Which bridge survived the flood?", "Which bridge did not survive the flood?"),
    Pair("Cheese", "Cheese from Kolm is made with rennet.", "Cheese from Varn is made without rennet.",
         "Where is cheese made with rennet?", "Where is cheese made without rennet?"),
    Pair("Parking", "Residents need a permit.", "Visitors do not need a permit.",
         "Who needs a permit?", "Who does not need a permit?", "The garage is closed at night."),
    Pair("Sensors", "The outdoor sensor reports humidity.", "The indoor sensor fails to report humidity.",
         "Which sensor reports humidity?", "Which sensor fails to report humidity?"),
    Pair("Insurance", "Storm damage is covered by plan A.", "Storm damage is excluded by plan B.",
         "Which plan covers storm damage?", "Which plan does not cover storm damage?"),
    Pair("Tents", "The Fjell tent has more than four poles.", "The Dune tent has fewer than four poles.",
         "Which tent has more than four poles?", "Which tent has fewer than four poles?"),
    Pair("Saplings", "The larch was damaged by frost.", "The maple was undamaged by frost.",
         "Which tree was damaged by frost?", "Which tree was undamaged by frost?"),
]  # fmt: skip

SUBJECTS = [
    Pair("Huts", "The Fir hut serves breakfast.", "The Ash hut does not serve breakfast.",
         "Does the Fir hut serve breakfast?", "Does the Ash hut serve breakfast?"),
    Pair("Branches", "The south branch sold 275 bicycles.", "The north branch sold 410 bicycles.",
         "How many bicycles did the south branch sell?", "How many bicycles did the north branch sell?"),
    Pair("Boilers", "The limit of boiler 3 is 12 bar.", "The limit of boiler 5 is 16 bar.",
         "What is the limit of boiler 3?", "What is the limit of boiler 5?"),
    Pair("Teachers", "Mrs Adler teaches history.", "Mrs Brandt teaches history and music.",
         "What does Mrs Adler teach?", "What does Mrs Brandt teach?"),
    Pair("Rivers", "The upper dam holds 40 million litres.", "The lower dam holds 90 million litres.",
         "How much does the upper dam hold?", "How much does the lower dam hold?"),
    Pair("Fares", "A child ticket costs 3 crowns.", "An adult ticket costs 9 crowns.",
         "What does a child ticket cost?", "What does an adult ticket cost?"),
    Pair("Opening hours", "The museum opens at nine in summer.", "The museum opens at eleven in winter.",
         "When does the museum open in summer?", "When does the museum open in winter?"),
    Pair("Tyres", "The front tyre needs 2.1 bar.", "The rear tyre needs 2.6 bar.",
         "What pressure does the front tyre need?", "What pressure does the rear tyre need?"),
    Pair("Emperors", "Marek the Elder died in 1412.", "Marek the Younger died in 1440.",
         "When did Marek the Elder die?", "When did Marek the Younger die?"),
    Pair("Doses", "The first dose is given at two months.", "The second dose is given at five months.",
         "When is the first dose given?", "When is the second dose given?"),
    Pair("Printers", "The black cartridge lasts 900 pages.", "The yellow cartridge lasts 600 pages.",
         "How long does the black cartridge last?", "How long does the yellow cartridge last?"),
    Pair("Results", "Revenue in 2021 was 14 million.", "Revenue in 2022 was 17 million.",
         "What was the revenue in 2021?", "What was the revenue in 2022?"),
    Pair("Keys", "The cellar key hangs in the office.", "The attic key hangs in the kitchen.",
         "Where does the cellar key hang?", "Where does the attic key hang?"),
    Pair("Birds", "The male heron builds the nest.", "The female heron guards the nest.",
         "What does the male heron do?", "What does the female heron do?"),
    Pair("Assembly", "The left panel is fixed with four screws.", "The right panel is fixed with six screws.",
         "How many screws fix the left panel?", "How many screws fix the right panel?"),
    Pair("Loans", "The rate of the short loan is 3 percent.", "The rate of the long loan is 5 percent.",
         "What is the rate of the short loan?", "What is the rate of the long loan?"),
    Pair("Grants", "Dr Ilves received the Rask prize.", "Dr Kolar received the Lund prize.",
         "Which prize did Dr Ilves receive?", "Which prize did Dr Kolar receive?"),
    Pair("Soil", "Sandy soil is watered every day.", "Clay soil is watered every week.",
         "How often is sandy soil watered?", "How often is clay soil watered?"),
    Pair("Lifts", "The goods lift carries 1200 kg.", "The passenger lift carries 480 kg.",
         "How much does the goods lift carry?", "How much does the passenger lift carry?"),
    Pair("Engines", "Dogs are allowed in the Lark hut.", "Dogs are not allowed in the Wren hut.",
         "Are dogs allowed in the Lark hut?", "Are dogs allowed in the Wren hut?"),
]  # fmt: skip

_TWO = "## {0}\n\n{1}\n\n## {2}\n\n{3}"


@dataclass(frozen=True)
class Section(Pair):
    """A pair of which each sentence stands under a heading of its own: `between` holds both, in order."""

    @property
    def text(self) -> str:
        """The document: each sentence under its heading."""
        one, other = self.between.split(" | ")
        return _TWO.format(one, self.first, other, self.second)


SECTIONS = [
    Section("Gardens", "It is closed on Mondays.", "It is closed on Tuesdays.", "When is the rose garden closed?",
            "When is the palm garden closed?", "Rose garden | Palm garden"),
    Section("Machines", "The oil is changed every month.", "The oil is changed every year.",
            "How often is the oil of the lathe changed?", "How often is the oil of the drill changed?",
            "Lathe | Drill"),
    Section("Reports of the branches", "Its largest cost was rent.", "Its largest cost was repairs.",
            "What was the largest cost of the north branch?", "What was the largest cost of the south branch?",
            "North branch | South branch"),
    Section("Breeds", "They need a walk of one hour.", "They need a walk of three hours.",
            "How long a walk do beagles need?", "How long a walk do pointers need?", "Beagles | Pointers"),
    Section("Courses", "The fee is 200 euros.", "The fee is 350 euros.", "What is the fee of the pottery course?",
            "What is the fee of the welding course?", "Pottery course | Welding course"),
    Section("Routers", "The default password is printed below.", "The default password is printed inside.",
            "Where is the default password of the Talo router?", "Where is the default password of the Mira router?",
            "Talo router | Mira router"),
    Section("Leave", "The notice period is one month.", "The notice period is three months.",
            "What is the notice period for trainees?", "What is the notice period for managers?",
            "Trainees | Managers"),
    Section("Recipes", "Bake it for 20 minutes.", "Bake it for 45 minutes.", "How long is the plum tart baked?",
            "How long is the rye bread baked?", "Plum tart | Rye bread"),
    Section("Campsites", "Fires are allowed here.", "Fires are forbidden here.",
            "Are fires allowed at the lake campsite?", "Are fires allowed at the forest campsite?",
            "Lake campsite | Forest campsite"),
    Section("Servers", "The backup runs at 01:00.", "The backup runs at 04:00.",
            "When does the backup of the mail server run?", "When does the backup of the file server run?",
            "Mail server | File server"),
    Section("Plants", "Water it twice a week.", "Water it twice a month.", "How often do I water the fern?",
            "How often do I water the cactus?", "Fern | Cactus"),
    Section("Apartments", "Pets are welcome.", "Pets are unwelcome.", "Are pets welcome in the garden flat?",
            "Are pets welcome in the attic flat?", "Garden flat | Attic flat"),
    Section("Races", "The entry fee is paid online.", "The entry fee is paid locally.",
            "How is the entry fee of the hill race paid?", "How is the entry fee of the lake race paid?",
            "Hill race | Lake race"),
    Section("Clubs", "It meets on the first Monday.", "It meets on the second Monday.",
            "When does the chess club meet?", "When does the bridge club meet?", "Chess club | Bridge club"),
]  # fmt: skip

PAIRS = [*DENIED, *SUBJECTS, *SECTIONS]
