# ruff: noqa: E501 (lines as programs write them)
"""Files of rows, codes and lines as spreadsheets, databases, wikis, servers and programs write them; all invented."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

Writer = Callable[[Path], Path]
FILES: dict[str, Writer] = {}
"""By name, what writes the file there."""


def text_file(name: str, content: str, encoding: str = "utf-8") -> None:
    def write(folder: Path) -> Path:
        path = folder / name
        path.write_bytes(content.encode(encoding))
        return path

    FILES[name] = write


def file(name: str) -> Callable[[Callable[[Path], object]], None]:
    def add(write: Callable[[Path], object]) -> None:
        def written(folder: Path) -> Path:
            write(folder / name)
            return folder / name

        FILES[name] = written

    return add


# Rows of tables and records.

text_file(
    "valves.csv",
    "sku,description,supplier,price_eur,text\n"
    'VX-4410,Ball valve,Norrland Valves,48.50,"Brass ball valve for cold water lines up to sixteen bar."\n'
    'VX-4490,Check valve,Ostwald Armatures,61.20,"Spring loaded check valve that keeps water from flowing back."\n'
    'VX-5105,Gate valve,Norrland Valves,92.00,"Cast iron gate valve for buried mains with a square key."\n',
)
text_file(
    "visitors.csv",
    "id,body\n1,A visitor complained that the breakfast room closes at nine although the sign says ten o'clock.\n"
    "2,A visitor complained that the heated pool was cold during the whole first week of May last year.\n",
)
text_file(
    "repairs.csv",
    "id,body\n1,The goods lift in the north tower stops between floors whenever the door sensor is wet from rain.\n"
    "2,The lamp over gate four flickers after heavy rain and was replaced twice in the course of this spring.\n",
)
text_file(
    "teile.csv",
    "\ufeffTeil;Bezeichnung;Bestand;Preis\r\nB-71;Unterlegscheibe groß;1.250;0,35\r\nB-72;Flügelmutter;640;1,05\r\n"
    'B-73;"Schraube ""lang""; verzinkt";95;2,40\r\n',
)
text_file(
    "lodges.tsv", "Lodge\tBeds\tWarden\nAlderhorn\t24\tMira Toft\nBirkenau\t16\tJon Vesely\nCedarfell\t38\tAda Lund\n"
)
text_file(
    "berths.csv",
    "sep=|\nBerths of the harbour||\nBerth|Depth|Tariff\nQ-11|7.2|130\nQ-12|5.1|95\nQ-13|9.8|210\n",
    "cp1252",
)
text_file("readings.csv", "M-501,12.5,ok\nM-502,13.1,ok\nM-503,99.7,broken\nM-504,12.9,ok\n")
text_file(
    "requests.jsonl",
    "".join(
        json.dumps(record) + "\n"
        for record in (
            {"id": 1, "title": "Pump leaks", "assignee": "Tomas Brandt", "priority": "high", "text": "Water under it."},
            {"id": 2, "title": "Door squeaks", "assignee": "Olga Reimann", "priority": "low", "text": "Oil the hinge."},
        )
    ),
)
text_file(
    "sensors.jsonl",
    '{"sensor": "TK-301", "room": "boiler house", "limit": {"celsius": 85}}\n'
    '{"sensor": "TK-302", "room": "cold store", "limit": {"celsius": 4}}\n',
)
text_file(
    "crew.json",
    json.dumps(
        [{"name": "Elin Sand", "role": "pilot", "badge": 7104}, {"name": "Rolf Ek", "role": "cook", "badge": 7105}]
    ),
)
text_file(
    "works.json",
    json.dumps(
        {
            "site": "Kestrel works",
            "halls": [
                {
                    "name": "Hall A",
                    "machines": [
                        {"tag": "PU-07", "kind": "pump", "limits": {"pressure_bar": 16}},
                        {"tag": "PU-08", "kind": "pump", "limits": {"pressure_bar": 10}},
                    ],
                },
                {"name": "Hall B", "machines": [{"tag": "FN-02", "kind": "fan", "limits": {"rpm": 1450}}]},
            ],
        }
    ),
)
text_file(
    "hosts.json",
    json.dumps(
        {"hosts": {"alpaca": {"ip": "10.20.0.4", "disk": "2 TB"}, "bison": {"ip": "10.20.0.9", "disk": "8 TB"}}}
    ),
)
text_file(
    "subscriptions.md",
    "# Subscriptions of the tool shop\n\nEach plan is billed every month.\n\n"
    "| Plan | Price | Seats | Support hours |\n|------|------:|---------:|--------------|\n"
    "| Starter | 12 | 3 | weekdays 9-12 |\n| **Workshop** | 39 | 15 | weekdays 8-18 |\n| Factory | 149 | 120 | daily |\n\n"
    "Plans can be changed at the end of a month.\n",
)
text_file(
    "ferries.adoc",
    '= Ferries\n\n.Timetable of summer\n[cols="1,1,2",options="header"]\n|===\n|Line |Departure |Island\n'
    "|F1 |07:40 |Grimsoy\n|F2\n|11:15\n|Lundholm\n|===\n",
)
text_file(
    "cables.rst",
    "Cables\n======\n\n+---------+--------+----------------+\n| Cable   | Length | Colour         |\n"
    "+=========+========+================+\n| Coaxial | 12 m   | black          |\n"
    "+---------+--------+----------------+\n| Fibre   | 40 m   | yellow and     |\n|         |        | white          |\n"
    "+---------+--------+----------------+\n",
)
text_file(
    "paints.rst",
    "Paints\n======\n\n=========  ======  ==========\nPaint      Litres  Shelf life\n=========  ======  ==========\n"
    "Vermilion  30      18 months\nCobalt     12      24 months\n=========  ======  ==========\n\n"
    ".. list-table:: Thinners\n   :header-rows: 1\n\n   * - Thinner\n     - Flash point\n   * - Turpentine\n     - 35 C\n",
)
text_file(
    "trees.txt",
    "Trees of the park\n\nTree         Planted  Height m\nLinden          1911      24.5\nHornbeam        1954      13.0\n"
    "Plane tree      1880      31.2\n",
)
text_file(
    "wells.txt",
    " well     | metres | owner\n----------+--------+--------------\n Old well |     31 | Parish\n Mill well|     18 | Haugen farm\n"
    "(2 rows)\n",
)
text_file(
    "tanks.txt",
    "+---------+--------+\n| tank    | litres |\n+---------+--------+\n| Tank 14 |   5200 |\n| Tank 15 |   8100 |\n"
    "+---------+--------+\n",
)


@file("rooms.xlsx")
def _rooms(path: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "Rooms"
    for row in (("Room", "Seats", "Projector"), ("Sofia", 40, "yes"), ("Tallinn", 12, "no"), ("Ghent", 80, "yes")):
        sheet.append(row)
    book.save(path)


@file("yields.xlsx")
def _yields(path: Path) -> None:
    import pandas

    pandas.DataFrame({"field": ["Northacre", "Longmead"], "wheat t": [41.5, 63.0], "barley t": [12.0, 8.5]}).to_excel(
        path, index=False
    )


@file("bakers.html")
def _bakers(path: Path) -> None:
    import pandas

    table = pandas.DataFrame({"bakery": ["Kornhaus", "Mehlwerk"], "loaves": [420, 615], "opens": ["05:30", "06:15"]})
    path.write_text(f"<html><title>Bakeries</title><body><h1>Bakeries</h1>{table.to_html(index=False)}</body></html>")


@file("winds.txt")
def _winds(path: Path) -> None:
    import pandas

    table = pandas.DataFrame({"station": ["Skagen", "Varde", "Nibe"], "gust": [31.5, 24.0, 27.25], "days": [12, 4, 7]})
    path.write_text(f"Gusts of the year\n\n{table.to_string(index=False)}\n")


# Exact strings.

text_file(
    "fault-codes.md",
    "# Fault codes of the press\n\nE-1043 means that the oil is too warm. Let it cool for ten minutes.\n\n"
    "E-1044 means that the guard door is open. Close it and press reset.\n\n"
    "E-1045 means that the belt has slipped. Call the service.\n",
)
text_file(
    "changes.md",
    "# Changes\n\n## 2.4.1\n\nThe export no longer loses umlauts.\n\n## 2.4.10\n\nLarge pictures are shown at once.\n\n"
    "## 2.5.0\n\nA dark theme was added.\n",
)
text_file(
    "contacts.txt",
    "Contacts\n\nFor invoices write to billing@harbour.example.org. It is read by Greta Holm.\n\n"
    "For lost keys write to keys@harbour.example.org. It is read by Piet Vos.\n",
)
text_file(
    "shipments.txt",
    "Shipments\n\nParcel 7Q-88213-KX was handed to the ferry on Monday.\n\n"
    "Parcel 7Q-88231-KX was held by the customs in Grimsoy.\n\nParcel 7Q-90110-AB came back to the sender.\n",
)
text_file(
    "devices.txt",
    "Devices\n\nThe gateway 192.168.40.7 stands in the cellar. The printer 192.168.40.70 stands in the hall.\n\n"
    "The scanner has the serial number SN00412290 and belongs to the archive.\n",
)
text_file(
    "constants.md",
    "# Constants of the driver\n\nERR_BUS_TIMEOUT is raised when the bus is silent for a second.\n\n"
    "ERR_BUS_PARITY is raised when a byte was damaged on its way.\n",
)
text_file(
    "invoices.csv",
    "invoice,customer,total,due\n2024-0117,Haugen farm,1830.00,2024-02-01\n2024-0171,Parish of Lund,410.50,2024-03-01\n",
)
text_file(
    "orders.txt",
    "Orders\n\nOrder 554120 was sent to Lundholm. Order 554210 was cancelled by the buyer.\n",
)
text_file(
    "alarms.csv",
    "code;meaning;remedy\nAL30.1;Fan blocked;Clean the grille\nAL30.2;Fan too slow;Replace the fan\nAL31.1;Door open;Close it\n",
)
text_file(
    "keys.txt",
    "Keys\n\nThe key 4f1c2a9e-77b0-4c1d-9a55-0d3e8f6b1c22 opens the archive.\n\n"
    "The key 4f1c2a9e-77b0-4c1d-9a55-0d3e8f6b1c23 opens the cellar.\n",
)

# Lines.


def _steady(line: Callable[[int], str], count: int = 60) -> str:
    return "".join(f"{line(number)}\n" for number in range(count))


text_file(
    "jobs.txt",
    _steady(
        lambda n: (
            f"2025-02-01 {n % 24:02d}:{n % 60:02d}:07 INFO worker-{n % 7} task {6000 + n} finished in {100 + n} ms"
        )
    )
    + "2025-02-09 03:14:07 ERROR worker-3 task 6871 failed: disk quota of volume lavender exceeded\n"
    + _steady(
        lambda n: f"2025-02-10 {n % 24:02d}:{n % 60:02d}:07 INFO worker-{n % 7} task {6900 + n} finished in {n} ms"
    ),
)
text_file(
    "nginx-error.log",
    _steady(lambda n: f"2025/03/04 10:{n % 60:02d}:11 [notice] 1201#1201: signal {n} received, reconfiguring", 30)
    + '2025/03/04 11:02:59 [error] 1201#1201: *88 open() "/srv/www/saffron.css" failed (2: No such file or directory)\n'
    + _steady(lambda n: f"2025/03/05 10:{n % 60:02d}:11 [notice] 1201#1201: signal {n} received, reconfiguring", 30),
)
text_file(
    "access.log",
    _steady(
        lambda n: (
            f'10.1.{n % 9}.{n} - - [05/Mar/2025:10:{n % 60:02d}:0{n % 10} +0000] "GET /tariff/{n} HTTP/1.1" 200 {n}41'
        ),
        40,
    )
    + '10.1.7.77 - - [05/Mar/2025:11:00:01 +0000] "POST /checkout/marzipan HTTP/1.1" 502 157\n',
)
text_file(
    "syslog.log",
    _steady(
        lambda n: (
            f"Jan {n % 28 + 1:2d} 04:{n % 60:02d}:01 petrel CRON[{3000 + n}]: (root) CMD (run-parts /etc/cron.hourly)"
        ),
        40,
    )
    + "Jan 29 04:17:44 petrel sshd[4711]: error: maximum authentication attempts exceeded for oskar from 10.9.8.7\n",
)
text_file(
    "java.log",
    _steady(lambda n: f"2025-04-01 08:{n % 60:02d}:00,123 INFO  [main] com.example.Harbour - tide table {n} loaded", 40)
    + "2025-04-01 09:41:07,456 ERROR [pool-2] com.example.Crane - load of 31 t refused\n"
    + "java.lang.IllegalStateException: limit of crane Boreas is 30 t\n\tat com.example.Crane.lift(Crane.java:88)\n",
)
text_file(
    "python.log",
    _steady(lambda n: f"INFO:importer:row {n} of the catalogue was read", 40)
    + "CRITICAL:importer:the catalogue of Vester ended in the middle of a row\n",
)
text_file(
    "service.jsonl",
    _steady(lambda n: json.dumps({"ts": f"2025-05-01T07:{n:02d}:00Z", "level": "info", "msg": f"heartbeat {n}"}), 40)
    + json.dumps({"ts": "2025-05-01T08:00:00Z", "level": "error", "msg": "certificate of gullwing expired"})
    + "\n",
)
text_file(
    "logfmt.log",
    _steady(lambda n: f'time=2025-06-01T07:{n:02d}:00Z level=info msg="queue drained" items={n}', 40)
    + 'time=2025-06-01T08:00:00Z level=error msg="queue poplar overflowed" items=9000\n',
)
text_file(
    "proxy.conf",
    "# limits of the proxy in the north office\nclient_max_body_size_of_uploads_in_bytes = 12582912\n"
    "keepalive_timeout_of_idle_connections_in_seconds = 75\nworker_connections_of_each_process_at_once = 2048\n",
)
text_file(
    "kiln.yaml",
    "kiln:\n  name: Vulcan\n  ramp_celsius_per_hour: 150\n  soak_minutes_at_the_highest_temperature: 35\n"
    "  cooling: slow\n",
)
text_file("mast.ini", "[mast]\nheight_metres = 41\nlamp_colour = amber\n\n[winch]\nload_kilograms = 350\n")
text_file(
    "steps.txt",
    "def total(rows):\n    result = sum(row.price for row in rows if row.is_paid)\n    return result\n\n"
    "def overdue(rows, today):\n    return [row for row in rows if row.due < today and not row.is_paid]\n",
)
