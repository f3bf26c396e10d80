"""A CRM export as a CRM really writes one: invented people, numbers written in many ways.

Where a country keeps numbers for films and examples, those are used (555-01xx in North America,
020 7946 0xxx in London); the mobiles of other countries are random within real ranges, so that
the sandbox has carriers for them. The same seed gives the same table everywhere: nothing but
`random.Random` decides.
"""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

#: What stands in a phone cell and is no number.
JUNK = ("n/a", "call reception", "1.41556E+10", "4.4774E+11", "0000000", "-", "unknown", "+")
_BLANK = (None, None, None, "", "", "   ")
_STAGES = ("lead", "marketing qualified lead", "opportunity", "customer", "former customer")
_OWNERS = ("Alma Reyes", "Bo Lindqvist", "Chidi Obi", "Dana Whitfield", "Eun-ji Park")
_TRADES = ("Logistics", "Foods", "Dental", "Robotics", "Textiles", "Travel", "Energy", "Optics")
_NOTES = ('said "call back"; mornings', "two offices:\nnorth, south", "moved, check address")
_FIRST_DAY = datetime(2021, 1, 4, tzinfo=UTC)
_DAYS = 1_800
_NOT_TEXT: dict[str, Any] = {
    "contact_id": pa.int64(),
    "created_at": pa.timestamp("ms", "UTC"),
    "deal_value": pa.float64(),
}
#: As East Asian keyboards write digits and plus.
_FULL_WIDTH = {ord(mark): ord(mark) + 0xFEE0 for mark in "+0123456789"}
#: Staff per company, about: how many rows share a switchboard.
_STAFF = 5


@dataclass(frozen=True, slots=True)
class Country:
    """How one country's people are called, and how its numbers are built and written."""

    code: str
    name: str
    calling: str
    trunk: str
    share: int
    spellings: tuple[str, ...]
    mobiles: tuple[str, ...]
    offices: tuple[str, ...]
    first_names: tuple[str, ...]
    last_names: tuple[str, ...]

    @classmethod
    def of(cls, paragraph: str) -> Country:
        """A country from its paragraph in the list."""
        head, *lists = paragraph.split("\n")
        code, name, calling, trunk, share, spellings = head.split("|")
        texts = (tuple(line.split(",")) for line in (spellings, *lists))
        return cls(code, name, calling, trunk, int(share), *texts)


@dataclass(frozen=True, slots=True)
class Number:
    """A phone number as its owner knows it: ``groups`` are its national part, spaced."""

    country: Country
    groups: tuple[str, ...]

    @property
    def e164(self) -> int:
        """The digits of its E.164 form."""
        return int(self.country.calling + "".join(self.groups))


@dataclass(frozen=True, slots=True)
class Written:
    """One phone cell: what stands there, and the E.164 integer it was meant to be, if any."""

    text: str | None
    number: int | None


@dataclass(frozen=True, slots=True)
class Contact:
    """One row of the export."""

    contact_id: int
    created_at: datetime
    first_name: str
    last_name: str
    company: str
    email: str
    country: str | None
    mobile: Written
    office_phone: Written
    lifecycle_stage: str
    owner: str
    deal_value: float | None
    notes: str | None


@dataclass(frozen=True, slots=True)
class _Company:
    name: str
    country: Country
    switchboard: Number


@dataclass(frozen=True, slots=True)
class _Person:
    first_name: str
    last_name: str
    company: _Company
    mobile: Number
    office: Number


#: Code, name, calling code, trunk prefix, share of the rows in percent, and other spellings of the
#: name; then how mobiles and offices are numbered, where ``#`` is any digit; then people's names.
_COUNTRIES = """
US|United States|1||28|USA,U.S.A.,United States of America,usa
201 555 01##,202 555 01##,206 555 01##,212 555 01##,213 555 01##,214 555 01##,215 555 01##,\
216 555 01##,303 555 01##,305 555 01##,310 555 01##,312 555 01##,313 555 01##,314 555 01##,\
404 555 01##,407 555 01##,408 555 01##,410 555 01##,412 555 01##,415 555 01##
502 555 01##,503 555 01##,504 555 01##,512 555 01##,602 555 01##,612 555 01##,615 555 01##,\
617 555 01##,619 555 01##,702 555 01##,704 555 01##,713 555 01##,716 555 01##,801 555 01##,\
804 555 01##,808 555 01##,901 555 01##,916 555 01##,800 555 01##
Ava,Caleb,Grace,Hunter,Jasmine,Logan,Mia,Tyler,Naomi,Wyatt
Anderson,Brooks,Carter,Diaz,Ellison,Foster,Hughes,Nguyen,O'Neill,Ramirez

GB|United Kingdom|44|0|21|UK,Great Britain,united kingdom,U.K.
7400 ######,7415 ######,7507 ######,7733 ######,7802 ######,7890 ######,7973 ######
20 7946 0###,161 496 0###,121 496 0###,131 496 0###,117 496 0###,113 496 0###
Alfie,Bethan,Callum,Freya,Harriet,Imogen,Oscar,Poppy,Rhys,Zara
Ashworth,Bell,Campbell,Davies,Fletcher,Hughes,Khan,MacLeod,Patel,Whittaker

DE|Germany|49|0|9|Deutschland,germany,DEU
151 1#######,152 0#######,157 7#######,160 9#######,171 #######,176 2#######
30 23125 ###,69 90009 ###,40 66969 ###,221 4710 ###,89 99998 ###
Anke,Bernd,Clara,Felix,Greta,Jonas,Lena,Matthias,Sabine,Uwe
Bauer,Fischer,Hoffmann,Krüger,Lehmann,Müller,Richter,Schäfer,Vogel,Weiß

FR|France|33|0|8|france,FRA,FRANCE
6 07 ## ## ##,6 12 ## ## ##,6 50 ## ## ##,6 98 ## ## ##,7 81 ## ## ##
1 99 00 ## ##,2 61 91 ## ##,3 53 01 ## ##,4 65 71 ## ##,5 36 49 ## ##
Amélie,Bastien,Camille,Élodie,Gaspard,Hugo,Inès,Léa,Noé,Zoé
Bernard,Dubois,Fournier,Girard,Lefèvre,Moreau,Perrin,Roux,Simon,Vidal

IN|India|91|0|8|india,IND,Republic of India
98200 #####,98100 #####,99000 #####,98450 #####,70200 #####,94440 #####
22 2### ####,11 4### ####,80 4### ####,44 2### ####
Aarav,Diya,Ishaan,Kavya,Meera,Nikhil,Priya,Rohan,Sneha,Vikram
Bhatt,Chopra,Desai,Iyer,Joshi,Menon,Nair,Reddy,Sharma,Verma

BR|Brazil|55||6|Brasil,brazil,BRA
11 961## ####,21 983## ####,31 993## ####,41 991## ####,51 996## ####
11 3### ####,21 2### ####,31 3### ####
Bruna,Caio,Débora,Felipe,Larissa,Mateus,Otávio,Renata,Thiago,Yara
Almeida,Barbosa,Cardoso,Ferreira,Gonçalves,Lima,Moraes,Pereira,Rocha,Souza

ES|Spain|34||6|España,spain,ESP
600 ## ## ##,609 ## ## ##,622 ## ## ##,655 ## ## ##,677 ## ## ##
91 4## ## ##,93 2## ## ##,96 3## ## ##
Alba,Bruno,Carmen,Diego,Elena,Íñigo,Lucía,Marcos,Nuria,Sergio
Blanco,Castro,Domínguez,Fernández,Gil,Iglesias,Márquez,Núñez,Ortega,Ruiz

NG|Nigeria|234|0|5|nigeria,NGA
803 ### ####,802 ### ####,805 ### ####,809 ### ####,706 ### ####
816 ### ####,703 ### ####
Adaeze,Bola,Chinedu,Efe,Folake,Ifeanyi,Kemi,Obinna,Sade,Uche
Abiola,Balogun,Danjuma,Eze,Ibrahim,Nwosu,Okafor,Ojo,Salami,Usman

ID|Indonesia|62|0|4|indonesia,IDN
811 1## ####,812 1### ####,813 8### ####,815 1### ####,817 6### ####
21 5### ####,31 5## ####,22 4## ####
Agus,Bayu,Citra,Dewi,Fitri,Hendra,Intan,Putri,Rizky,Wulan
Gunawan,Hartono,Kusuma,Lestari,Nugroho,Pratama,Santoso,Sari,Utami,Wijaya

CA|Canada|1||5|canada,CAN
416 555 01##,604 555 01##,514 555 01##,403 555 01##,613 555 01##,902 555 01##
647 555 01##,778 555 01##,438 555 01##
Audrey,Benoît,Chloe,Declan,Émile,Fiona,Liam,Maya,Noah,Sylvie
Bouchard,Chan,Fraser,Gagnon,Lavoie,MacDonald,Singh,Tremblay,Wong,Young
"""
COUNTRIES = tuple(Country.of(paragraph) for paragraph in _COUNTRIES.strip().split("\n\n"))


def crm_export(rows: int = 6_000, *, seed: int = 7) -> pa.Table:
    """The export as a table of `rows` rows; the same for the same seed."""
    people = contacts(rows, seed=seed)
    columns: dict[str, Any] = {}
    for field in fields(Contact):
        cells = [getattr(person, field.name) for person in people]
        texts = [cell.text if isinstance(cell, Written) else cell for cell in cells]
        columns[field.name] = pa.array(texts, _NOT_TEXT.get(field.name, pa.string()))
    return pa.table(columns)


def contacts(rows: int = 6_000, *, seed: int = 7) -> list[Contact]:
    """The rows of the export with the numbers that were meant, which the export does not tell."""
    rng = random.Random(seed)  # noqa: S311 - invented people are no secret
    shares = [country.share for country in COUNTRIES]
    companies = {country: _companies(rng, country, rows) for country in COUNTRIES}
    people: list[_Person] = []
    written = []
    contact_id = 1_000_000
    for _ in range(rows):
        if people and _chance(rng, 3):
            # The same person once more, as another form or a second import wrote them.
            person = rng.choice(people)
        else:
            country = rng.choices(COUNTRIES, shares)[0]
            abroad = rng.choices(COUNTRIES, shares)[0] if _chance(rng, 2) else country
            person = _person(rng, rng.choice(companies[country]), abroad)
            people.append(person)
        contact_id += rng.randrange(1, 9)
        written.append(_contact(rng, person, contact_id))
    return written


def _companies(rng: random.Random, country: Country, rows: int) -> list[_Company]:
    companies = []
    for _ in range(max(2, rows * country.share // (100 * _STAFF))):
        owner = rng.choice(country.last_names)
        name = f"{owner} {rng.choice(_TRADES)}"
        if _chance(rng, 30):
            name = f"{owner} & {rng.choice(country.last_names)}"
        companies.append(_Company(name, country, _number(rng, country, country.offices)))
    return companies


def _person(rng: random.Random, company: _Company, abroad: Country) -> _Person:
    country = company.country
    own_line = _number(rng, country, country.offices)
    return _Person(
        first_name=rng.choice(country.first_names),
        last_name=rng.choice(country.last_names),
        company=company,
        mobile=_number(rng, abroad, abroad.mobiles),
        office=company.switchboard if _chance(rng, 60) else own_line,
    )


def _contact(rng: random.Random, person: _Person, contact_id: int) -> Contact:
    """One row about a person, as one clerk on one day wrote it."""
    country = person.company.country
    domain = person.company.name.replace(" & ", "-").replace(" ", "-")
    return Contact(
        contact_id=contact_id,
        created_at=_FIRST_DAY + timedelta(minutes=rng.randrange(_DAYS * 24 * 60)),
        first_name=rng.choice((person.first_name,) * 9 + (person.first_name.upper(),)),
        last_name=person.last_name,
        company=person.company.name,
        email=_plain(f"{person.first_name[0]}.{person.last_name}@{domain}.example"),
        country=_country_cell(rng, country),
        mobile=_cell(rng, person.mobile, country, blank=14),
        office_phone=_cell(rng, person.office, country, blank=20, extension=6),
        lifecycle_stage=rng.choice(_STAGES),
        owner=rng.choice(_OWNERS),
        deal_value=rng.randrange(10_000, 9_000_000) / 100 if _chance(rng, 55) else None,
        notes=rng.choice(_NOTES) if _chance(rng, 4) else None,
    )


def _plain(text: str) -> str:
    """Small letters without accents or apostrophes, as addresses have them."""
    bare = unicodedata.normalize("NFKD", text.replace("ß", "ss").replace("'", ""))
    return bare.encode("ascii", "ignore").decode().lower()


def _chance(rng: random.Random, percent: float) -> bool:
    return rng.random() * 100 < percent


def _number(rng: random.Random, country: Country, templates: tuple[str, ...]) -> Number:
    template = rng.choice(templates)
    digits = (str(rng.randrange(10)) if mark == "#" else mark for mark in template)
    return Number(country, tuple("".join(digits).split()))


def _country_cell(rng: random.Random, country: Country) -> str | None:
    odd = rng.choice((None, "", "Atlantis", "unknown"))
    spelling = rng.choice(country.spellings)
    return rng.choices((country.name, country.code, spelling, odd), (82, 8, 6, 4))[0]


def _cell(
    rng: random.Random, number: Number, row: Country, *, blank: float, extension: float = 0
) -> Written:
    """How one cell is written. A number of another country than the row's is never national."""
    if _chance(rng, blank):
        return Written(rng.choice(_BLANK), None)
    if _chance(rng, 2.5):
        return Written(rng.choice(JUNK), None)
    at_home = number.country is row and _chance(rng, 40)
    weights, writers = zip(*(_NATIONAL_WAYS if at_home else _INTERNATIONAL_WAYS), strict=True)
    text = rng.choices(writers, weights)[0](number)
    if _chance(rng, extension) and not text.endswith(".0"):
        text += rng.choice((" ext. {}", " x{}", " #{}")).format(rng.randrange(10, 500))
    elif _chance(rng, 3):
        text += rng.choice((" ", "  ", "\N{NO-BREAK SPACE}"))
    return Written(text, number.e164)


def _grouped(number: Number, mark: str) -> str:
    return mark.join(number.groups)


def _national(number: Number) -> str:
    return number.country.trunk + _grouped(number, " ")


def _bracketed(number: Number) -> str:
    area, *rest = number.groups
    return f"({number.country.trunk}{area}) {'-'.join(rest)}"


def _with_trunk(number: Number) -> str:
    """The trunk prefix in brackets where a country has one, as letterheads print it."""
    trunk = f"({number.country.trunk})" if number.country.trunk else ""
    return f"+{number.country.calling} {trunk}{_grouped(number, ' ')}"


#: How a number is written for the whole world, by weight.
_INTERNATIONAL_WAYS: tuple[tuple[int, Callable[[Number], str]], ...] = (
    (34, lambda number: f"+{number.e164}"),
    (22, lambda number: f"+{number.country.calling} {_grouped(number, ' ')}"),
    (8, lambda number: f"+{number.country.calling}-{_grouped(number, '-')}"),
    (5, lambda number: f"+{number.country.calling}.{_grouped(number, '.')}"),
    (4, _with_trunk),
    (6, lambda number: f"00{number.country.calling} {_grouped(number, ' ')}"),
    (4, lambda number: f"011 {number.country.calling} {_grouped(number, ' ')}"),
    (6, lambda number: str(number.e164)),
    (4, lambda number: f"{number.e164}.0"),
    (3, lambda number: f"'+{number.e164}"),
    (2, lambda number: f"tel:+{number.country.calling}-{_grouped(number, '-')}"),
    (1, lambda number: f"+{number.e164}".translate(_FULL_WIDTH)),
)
#: How a number is written for readers of the same country, by weight.
_NATIONAL_WAYS: tuple[tuple[int, Callable[[Number], str]], ...] = (
    (40, _national),
    (20, lambda number: _national(number).replace(" ", "")),
    (20, _bracketed),
    (10, lambda number: _national(number).replace(" ", "-")),
    (10, lambda number: _national(number).replace(" ", ".")),
)
