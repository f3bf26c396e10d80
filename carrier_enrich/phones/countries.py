"""Countries as people write them: codes and names to ISO 3166-1 alpha-2."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache

import phonenumbers

# Names beside English ones, because exports carry the language of the office that made them.
_LANGUAGES = ("en", "de", "es", "fr", "it", "nl", "pt")

# "Congo" alone is two countries, and the locale data gives it to one of them.
_UNNAMED = frozenset({"CD", "CG"})

# What the locale data does not say: newer and older names, formal ones, parts of a country.
_ALIASES = """
AC: Ascension Island
AE: UAE, Emirates
AG: Antigua
BA: Bosnia, Bosnia Herzegovina
BN: Brunei Darussalam
BO: Plurinational State of Bolivia
BQ: Bonaire, Caribbean Netherlands, Bonaire Sint Eustatius and Saba
BS: Commonwealth of the Bahamas
CC: Cocos (Keeling) Islands, Keeling Islands
CD: DR Congo, DRC, Congo DR, Congo DRC, Democratic Republic of the Congo, Congo-Kinshasa, Zaire
CG: Republic of the Congo, Congo-Brazzaville
CI: Ivory Coast, Cote d Ivoire
CN: PRC, People's Republic of China, Mainland China
CV: Cabo Verde
CZ: Czechia
DE: Federal Republic of Germany
FK: Falklands, Falkland Islands (Malvinas)
FM: Federated States of Micronesia
GB: UK, Great Britain, Britain, England, Scotland, Wales, Northern Ireland, \
    United Kingdom of Great Britain and Northern Ireland
HK: Hong Kong SAR, Hong Kong SAR China
IE: Eire, Republic of Ireland
IR: Islamic Republic of Iran
KP: DPRK, Democratic People's Republic of Korea
KR: Republic of Korea
LA: Lao People's Democratic Republic, Lao PDR
MD: Republic of Moldova
MK: North Macedonia, Republic of North Macedonia
MM: Burma
MO: Macau, Macao SAR, Macau SAR, Macao SAR China
NL: Holland
PH: Republic of the Philippines
PG: PNG
PS: Palestinian Territories, State of Palestine
RU: Russian Federation
SA: KSA, Kingdom of Saudi Arabia
SH: Saint Helena Ascension and Tristan da Cunha
SJ: Svalbard
SK: Slovak Republic
MF: Saint Martin (French part)
SX: Sint Maarten, Saint Maarten
SY: Syrian Arab Republic
SZ: Eswatini
TA: Tristan da Cunha
TL: East Timor
TR: Turkiye, Republic of Turkiye
TT: Trinidad
TW: Republic of China, Province of China Taiwan, Taiwan ROC
TZ: United Republic of Tanzania
US: United States of America
VA: Vatican City, Vatican City State, Holy See
VE: Bolivarian Republic of Venezuela
VG: Virgin Islands British
VI: Virgin Islands US, US Virgin Islands, United States Virgin Islands
VN: Viet Nam
XK: Kosovo
ZA: RSA
"""

_ALPHA_3 = """
AD:AND AE:ARE AF:AFG AG:ATG AI:AIA AL:ALB AM:ARM AO:AGO AR:ARG AS:ASM AT:AUT AU:AUS AW:ABW
AX:ALA AZ:AZE BA:BIH BB:BRB BD:BGD BE:BEL BF:BFA BG:BGR BH:BHR BI:BDI BJ:BEN BL:BLM BM:BMU
BN:BRN BO:BOL BQ:BES BR:BRA BS:BHS BT:BTN BW:BWA BY:BLR BZ:BLZ CA:CAN CC:CCK CD:COD CF:CAF
CG:COG CH:CHE CI:CIV CK:COK CL:CHL CM:CMR CN:CHN CO:COL CR:CRI CU:CUB CV:CPV CW:CUW CX:CXR
CY:CYP CZ:CZE DE:DEU DJ:DJI DK:DNK DM:DMA DO:DOM DZ:DZA EC:ECU EE:EST EG:EGY EH:ESH ER:ERI
ES:ESP ET:ETH FI:FIN FJ:FJI FK:FLK FM:FSM FO:FRO FR:FRA GA:GAB GB:GBR GD:GRD GE:GEO GF:GUF
GG:GGY GH:GHA GI:GIB GL:GRL GM:GMB GN:GIN GP:GLP GQ:GNQ GR:GRC GT:GTM GU:GUM GW:GNB GY:GUY
HK:HKG HN:HND HR:HRV HT:HTI HU:HUN ID:IDN IE:IRL IL:ISR IM:IMN IN:IND IO:IOT IQ:IRQ IR:IRN
IS:ISL IT:ITA JE:JEY JM:JAM JO:JOR JP:JPN KE:KEN KG:KGZ KH:KHM KI:KIR KM:COM KN:KNA KP:PRK
KR:KOR KW:KWT KY:CYM KZ:KAZ LA:LAO LB:LBN LC:LCA LI:LIE LK:LKA LR:LBR LS:LSO LT:LTU LU:LUX
LV:LVA LY:LBY MA:MAR MC:MCO MD:MDA ME:MNE MF:MAF MG:MDG MH:MHL MK:MKD ML:MLI MM:MMR MN:MNG
MO:MAC MP:MNP MQ:MTQ MR:MRT MS:MSR MT:MLT MU:MUS MV:MDV MW:MWI MX:MEX MY:MYS MZ:MOZ NA:NAM
NC:NCL NE:NER NF:NFK NG:NGA NI:NIC NL:NLD NO:NOR NP:NPL NR:NRU NU:NIU NZ:NZL OM:OMN PA:PAN
PE:PER PF:PYF PG:PNG PH:PHL PK:PAK PL:POL PM:SPM PR:PRI PS:PSE PT:PRT PW:PLW PY:PRY QA:QAT
RE:REU RO:ROU RS:SRB RU:RUS RW:RWA SA:SAU SB:SLB SC:SYC SD:SDN SE:SWE SG:SGP SH:SHN SI:SVN
SJ:SJM SK:SVK SL:SLE SM:SMR SN:SEN SO:SOM SR:SUR SS:SSD ST:STP SV:SLV SX:SXM SY:SYR SZ:SWZ
TC:TCA TD:TCD TG:TGO TH:THA TJ:TJK TK:TKL TL:TLS TM:TKM TN:TUN TO:TON TR:TUR TT:TTO TV:TUV
TW:TWN TZ:TZA UA:UKR UG:UGA US:USA UY:URY UZ:UZB VA:VAT VC:VCT VE:VEN VG:VGB VI:VIR VN:VNM
VU:VUT WF:WLF WS:WSM YE:YEM YT:MYT ZA:ZAF ZM:ZMB ZW:ZWE XK:XKX
"""


def country_code(value: str) -> str | None:
    """The ISO 3166-1 alpha-2 code of a code (alpha-2, alpha-3) or a name.

    Names are English ones, with common aliases, and those of six other European languages.
    Case, accents, punctuation, "the" and "and" make no difference. None where the text names no
    country that has phone numbers, or more than one (Congo, Korea): nothing is guessed.
    """
    if found := _codes().get(value.strip().replace(".", "").upper()):
        return found
    if found := _names().get(_folded(value)):
        return found
    # ISO turns names round: "Tanzania, United Republic of", "Moldova (Republic of)".
    first, bracket, last = value.partition("(" if "(" in value else ",")
    return _names().get(_folded(f"{last} {first}")) if bracket else None


@cache
def _codes() -> Mapping[str, str]:
    own = {code: code for code in phonenumbers.SUPPORTED_REGIONS}
    pairs = (pair.split(":") for pair in _ALPHA_3.split())
    return own | {alpha_3: code for code, alpha_3 in pairs}


@cache
def _names() -> Mapping[str, str]:
    return _unanimous(_locale_names()) | _unanimous(_aliases())


def _unanimous(pairs: Iterator[tuple[str, str]]) -> dict[str, str]:
    """Folded name to code; a name that several countries share is left out."""
    claims: dict[str, set[str]] = {}
    for text, code in pairs:
        claims.setdefault(_folded(text), set()).add(code)
    return {text: codes.pop() for text, codes in claims.items() if len(codes) == 1}


def _aliases() -> Iterator[tuple[str, str]]:
    for line in _ALIASES.replace("\\\n", "").strip().splitlines():
        code, _, names = line.partition(":")
        for name in names.split(","):
            yield name, code


def _locale_names() -> Iterator[tuple[str, str]]:
    from phonenumbers.geodata.locale import LOCALE_DATA

    for code in (phonenumbers.SUPPORTED_REGIONS & LOCALE_DATA.keys()) - _UNNAMED:
        names = LOCALE_DATA[code]
        for language in _LANGUAGES:
            name = names[language]
            # An asterisk refers to the language that has the same name.
            yield names[name[1:]] if name.startswith("*") else name, code


def _folded(text: str) -> str:
    letters = unicodedata.normalize("NFKD", text.casefold())
    letters = "".join(c for c in letters if not unicodedata.combining(c))
    words = re.findall(r"[^\W_]+", re.sub(r"[.'\u2019]", "", letters))
    return " ".join("saint" if w == "st" else w for w in words if w not in ("the", "and"))
