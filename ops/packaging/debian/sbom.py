"""Prints what a program consists of, as SPDX 2.3 in JSON: Debian's packages whose libraries it loads, those whose
headers were compiled into it, and npm's packages that its console was bundled with.

    python3 sbom.py PROGRAM

Nothing in the document differs between two runs over the same program on the same machine: its time is
SOURCE_DATE_EPOCH's, and its namespace has the program's digest.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
from datetime import datetime, timezone
from typing import Dict, List, Optional, Set

# Libraries of which a program has what it uses of their headers.
HEADERS = ("libboost1.81-dev", "nlohmann-json3-dev", "libcli11-dev", "libvalijson-dev", "libspdlog-dev", "libfmt-dev",
           "libpqxx-dev", "prometheus-cpp-dev")
CONSOLE = pathlib.Path(__file__).resolve().parents[2] / "console"
PAGE = b'rel="modulepreload" href="console/'  # is in a program that has its console


def output_of(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def loaded_libraries(program: str) -> List[str]:
    """The files of the shared objects that the loader takes, theirs included."""
    found = re.findall(r"^\s*(?:\S+ => )?(/\S+) \(0x", output_of("ldd", program), re.MULTILINE)
    return sorted(set(found))


def package_of(library: str) -> str:
    """The Debian package that has the file, also where /lib is a link to /usr/lib."""
    for path in (library, "/usr" + library, os.path.realpath(library)):
        answer = subprocess.run(["dpkg-query", "-S", path], capture_output=True, text=True)
        if answer.returncode == 0:
            return answer.stdout.split(": ")[0].split(",")[0].split(":")[0]
    raise SystemExit(f"sbom: Expected {library} to be of a Debian package, but none has it.")


def unpacked_facts_of(package: str) -> Optional[Dict[str, str]]:
    """The facts of a package that ops/setup unpacked without installing it."""
    answer = subprocess.run(["apt-cache", "show", "--no-all-versions", package], capture_output=True, text=True)
    fields = dict(line.split(": ", 1) for line in answer.stdout.splitlines() if re.match(r"[A-Z][A-Za-z-]*: ", line))
    if "Version" not in fields:
        return None
    return {"name": package, "version": fields["Version"], "architecture": fields["Architecture"],
            "source": fields.get("Source", package), "source_version": fields["Version"],
            "homepage": fields.get("Homepage", "")}


def facts_of(package: str) -> Dict[str, str]:
    form = "${Package}\t${Version}\t${Architecture}\t${source:Package}\t${source:Version}\t${Homepage}\n"
    answer = subprocess.run(["dpkg-query", "-W", "-f", form, package], capture_output=True, text=True)
    if answer.returncode != 0 or not answer.stdout.split("\t")[1]:
        unpacked = unpacked_facts_of(package)
        if unpacked is None:
            raise SystemExit(f"sbom: Expected the package {package}, whose headers are compiled in, but found none.")
        return unpacked
    names = ("name", "version", "architecture", "source", "source_version", "homepage")
    return dict(zip(names, answer.stdout.split("\n")[0].split("\t")))


def entry_of(facts: Dict[str, str]) -> Dict[str, object]:
    address = f"pkg:deb/debian/{facts['name']}@{facts['version']}?arch={facts['architecture']}&distro=debian-12"
    return {
        "SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.]", "-", facts["name"]),
        "name": facts["name"],
        "versionInfo": facts["version"],
        "supplier": "Organization: Debian",
        "sourceInfo": f"built by Debian from {facts['source']} {facts['source_version']}",
        "downloadLocation": "NOASSERTION",
        "homepage": facts["homepage"] or "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION",
        "copyrightText": "NOASSERTION",
        "externalRefs": [{
            "referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": address}],
    }


def bundled_entries() -> List[Dict[str, object]]:
    """Of npm's packages with which the console was bundled, as the lock file has them."""
    entries = []
    for place, facts in json.loads((CONSOLE / "package-lock.json").read_text())["packages"].items():
        if not place or facts.get("dev"):
            continue
        name = place.split("node_modules/")[-1]
        algorithm, digest = facts["integrity"].split("-", 1)
        file = f"{name.split('/')[-1]}-{facts['version']}.tgz"
        entries.append({
            "SPDXID": "SPDXRef-npm-" + re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-"),
            "name": name,
            "versionInfo": facts["version"],
            "supplier": "NOASSERTION",
            "checksums": [{"algorithm": algorithm.upper(), "checksumValue": base64.b64decode(digest).hex()}],
            "downloadLocation": f"https://registry.npmjs.org/{name}/-/{file}",
            "filesAnalyzed": False,
            "licenseConcluded": "NOASSERTION",
            "licenseDeclared": facts["license"],
            "copyrightText": "NOASSERTION",
            "externalRefs": [{
                "referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                "referenceLocator": f"pkg:npm/{name.replace('@', '%40')}@{facts['version']}"}],
        })
    return entries


def program_entry(program: str, version: Dict[str, object], digest: str) -> Dict[str, object]:
    return {
        "SPDXID": "SPDXRef-cairn",
        "name": "cairn",
        "versionInfo": version["version"],
        "sourceInfo": f"commit {version['commit'] or 'unknown'}, {version['compiler']}, {version['build_type']}",
        "packageFileName": pathlib.Path(program).name,
        "checksums": [{"algorithm": "SHA256", "checksumValue": digest}],
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "MIT",
        "licenseDeclared": "MIT",
        "copyrightText": "Copyright (c) 2026 The Cairn authors",
    }


def relation(kind: str, other: str) -> Dict[str, str]:
    return {"spdxElementId": "SPDXRef-cairn", "relationshipType": kind, "relatedSpdxElement": other}


def document_of(program: str) -> Dict[str, object]:
    content = pathlib.Path(program).read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    version = json.loads(output_of(program, "version", "--json"))
    loaded: Set[str] = {package_of(library) for library in loaded_libraries(program)}
    packages = [program_entry(program, version, digest)]
    relations = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
                  "relatedSpdxElement": "SPDXRef-cairn"}]
    for kind, names in (("DYNAMIC_LINK", sorted(loaded)), ("STATIC_LINK", sorted(HEADERS))):
        for name in names:
            entry = entry_of(facts_of(name))
            packages.append(entry)
            relations.append(relation(kind, str(entry["SPDXID"])))
    for entry in bundled_entries() if PAGE in content else []:
        packages.append(entry)
        relations.append(relation("CONTAINS", str(entry["SPDXID"])))
    moment = datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), timezone.utc)
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"cairn-{version['version']}",
        "documentNamespace": f"https://cairn.example/spdx/cairn-{version['version']}-{digest}",
        "creationInfo": {"created": moment.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: cairn ops/package"]},
        "packages": packages,
        "relationships": relations,
    }


def main(arguments: List[str]) -> None:
    if len(arguments) != 1:
        raise SystemExit("usage: sbom.py PROGRAM")
    print(json.dumps(document_of(os.path.abspath(arguments[0])), indent=1))


if __name__ == "__main__":
    main(sys.argv[1:])
