"""The wheel and the source archive, made without network, as an empty environment takes them."""

import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import unittest
import venv

import cairn

CLIENT = pathlib.Path(cairn.__file__).resolve().parent.parent


def run(*command: object) -> str:
    return subprocess.run([str(one) for one in command], check=True, capture_output=True, text=True, timeout=120).stdout


class Packing(unittest.TestCase):
    def setUp(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.folder = pathlib.Path(self._folder.name)

    def installed(self, *source: object) -> pathlib.Path:
        """Installs into an empty environment, and returns its Python."""
        venv.create(self.folder / "venv", with_pip=False)
        python = self.folder / "venv/bin/python"
        site = next((self.folder / "venv/lib").iterdir()) / "site-packages"
        if importlib.util.find_spec("pip") is None:
            run(sys.executable, "-m", "zipfile", "-e", source[-1], site)
        else:
            run(sys.executable, "-m", "pip", "--python", python, "install", "--no-index", "--quiet",
                "--disable-pip-version-check", *source)
        self.assertTrue((site / "cairn/py.typed").is_file())
        return python

    def test_the_wheel_installs_and_imports(self) -> None:
        names = run(CLIENT / "pack", self.folder / "dist").split()
        self.assertEqual(names, [f"cairn_client-{cairn.__version__}-py3-none-any.whl",
                                 f"cairn_client-{cairn.__version__}.tar.gz"])
        python = self.installed(self.folder / "dist" / names[0])
        said = run(python, "-I", "-c", "import cairn; print(cairn.__version__, cairn.Worker, cairn.__file__)")
        self.assertIn("site-packages", said)
        self.assertTrue(said.startswith(cairn.__version__))

    @unittest.skipIf(importlib.util.find_spec("pip") is None, "there is no pip that builds")
    def test_the_source_archive_installs_without_network(self) -> None:
        run(CLIENT / "pack", self.folder / "dist")
        python = self.installed(next((self.folder / "dist").glob("*.tar.gz")))
        self.assertIn("site-packages", run(python, "-I", "-c", "import cairn; print(cairn.__file__)"))

    def test_two_builds_are_the_same_bytes(self) -> None:
        for folder in ("one", "two"):
            run(CLIENT / "pack", self.folder / folder)
        names = sorted(path.name for path in (self.folder / "one").iterdir())
        self.assertEqual(len(names), 2)
        for name in names:
            self.assertEqual((self.folder / "one" / name).read_bytes(), (self.folder / "two" / name).read_bytes())


if __name__ == "__main__":
    unittest.main()
