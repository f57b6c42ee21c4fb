"""The documentation site: ``sphinx-build -W -b html docs/site docs/site/_build/html``.

The site includes the pages of the repository (docs/*.md, CHANGELOG.md, …) instead of copying them. Each of them has a
short page here, at the path that its links expect.
"""

from __future__ import annotations

import ast
import posixpath
import re
import tomllib
from pathlib import Path

import anyk
import latex2mathml.converter
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

logger = logging.getLogger(__name__)

here = Path(__file__).resolve().parent
root = here.parent.parent
about = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]

project = "AnyK"
author = about["authors"][0]["name"]
copyright = author  # noqa: A001, Sphinx requires this name
version = release = anyk.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build", "jupyter_execute"]

# Pages whose content does not exist yet. They are left out of the site and of its list of pages.
waiting = []
if not (root / "docs" / "pytorch.md").exists():
    waiting.append("pytorch")
if "<!-- separable -->" in (here / "guides" / "own-problem.md").read_text(encoding="utf-8"):
    waiting.append("guides/own-problem")
exclude_patterns += [f"{page}.md" for page in waiting]

# Markdown.
myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

# Notebooks are committed with their outputs for readers of the repository. Every build runs them again; an error in one
# fails it.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_execution_show_tb = True
nb_merge_streams = True
# Removes the progress bars of tqdm.
nb_output_stderr = "remove"

# The API reference, from the docstrings (NumPy style) of the installed package.
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_class_signature = "mixed"
# Show these types by name, because their definitions are long.
autodoc_type_aliases = {
    name: name
    for name in ("ArrayLike", "CostLike", "Option", "Policy", "Progress", "PolicySource", "Answer", "Floats")
}
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100
add_module_names = False

# Appearance.
html_theme = "furo"
html_title = f"AnyK {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_math_renderer = "mathml"
pygments_style = "friendly"
pygments_dark_style = "github-dark"


def mathml(tex: str, display: str) -> str:
    """Convert a formula to MathML, which browsers display without scripts or downloads."""
    found = latex2mathml.converter.convert(tex, display=display)
    # The converter leaves unknown commands in its output.
    if re.search(r"\\[a-zA-Z]|<mi>&</mi>", found):
        logger.warning("cannot convert this formula to MathML: %s", tex)
    return found


def visit_inline(self, node: nodes.math) -> None:
    self.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def visit_block(self, node: nodes.math_block) -> None:
    self.body.append(self.starttag(node, "div", CLASS="math"))
    if node["number"]:
        self.body.append(f'<span class="eqno">({node["number"]})</span>')
    self.body.append(mathml(node.astext(), "block"))
    self.body.append("</div>\n")
    raise nodes.SkipNode


def stub() -> dict[str, ast.FunctionDef]:
    """Read the methods in the stub of the compiled module, which has their types, by names such as ``Cell.solve``."""
    text = (Path(anyk.__file__).parent / "_anyk.pyi").read_text(encoding="utf-8")
    found = {}
    for node in ast.parse(text).body:
        for member in node.body if isinstance(node, ast.ClassDef) else []:
            if isinstance(member, ast.FunctionDef):
                found[f"{node.name}.{member.name}"] = member
    return found


STUB = stub()


def compiled(name: str, obj: object) -> ast.FunctionDef | None:
    """Return the stub of a documented name if it is compiled."""
    of_python = hasattr(obj, "__code__") or hasattr(getattr(obj, "fget", None), "__code__")
    return None if of_python else STUB.get(name.removeprefix("anyk."))


def typed_signature(app, what, name, obj, options, signature, returns):
    """Return the signature of a compiled method with types, and other signatures unchanged."""
    found = compiled(name, obj)
    if found is None or what != "method":
        # Sphinx does not resolve a type alias within another type.
        alias = re.compile(r"TypeAliasForwardRef\('(\w+)'\)")
        return tuple(text and alias.sub(r"\1", text) for text in (signature, returns))
    arguments = ast.unparse(found.args).removeprefix("self, ").removeprefix("self")
    return f"({arguments})", ast.unparse(found.returns) if found.returns else None


def typed_property(app, what, name, obj, options, lines: list[str]) -> None:
    """Put the type of a compiled property before its docstring, and convert Markdown code spans to reStructuredText."""
    found = compiled(name, obj)
    if isinstance(obj, type) or found is not None:
        lines[:] = [re.sub(r"(?<!`)`([^`]+)`(?!`)(?!_)", r"``\1``", line) if ":`" not in line else line for line in lines]
    if found is not None and what in ("attribute", "property") and found.returns:
        lines[:1] = [f"*{ast.unparse(found.returns)}.* {lines[0] if lines else ''}"]


# Pages of files outside docs/.
OTHERS = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "README.md": "index.md",
    "examples/gallery/README.md": "gallery.md",
}
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")


def page_of(path: str) -> str | None:
    """Return the page of this site that shows a file of the repository."""
    if path.startswith("docs/site/"):
        page = path.removeprefix("docs/site/")
    elif path.startswith("docs/"):
        page = path.removeprefix("docs/")
    else:
        page = OTHERS.get(path, "")
    return page if page.endswith((".md", ".ipynb")) and (here / page).exists() else None


def links(app: Sphinx, relative: Path, parent: str, content: list[str]) -> None:
    """Rewrite the relative links of an included file for the site.

    A link to a file without a page becomes a link to the repository if it is public, otherwise plain text.
    """
    source = (here / relative).resolve()
    folder = source.parent.relative_to(root).as_posix()
    page_folder = posixpath.join("docs/site", posixpath.dirname(app.env.docname))
    public = about.get("urls", {}).get("Repository")

    def on_site(link: re.Match[str]) -> str:
        image, text, target = link.groups()
        if target.startswith(("#", "http:", "https:", "mailto:")):
            return link[0]
        name, _, anchor = target.partition("#")
        path = posixpath.normpath(posixpath.join(folder, name))
        if not (root / path).exists():
            logger.warning("%s: the target of the link to %s does not exist", source.relative_to(root), target)
            return text
        if image:
            return f"![{text}]({posixpath.relpath(path, page_folder)})"
        page = page_of(path)
        if page is not None:
            return f"[{text}](/{page}{'#' + anchor if anchor else ''})"
        if public:
            return f"[{text}]({public}/tree/main/{path})"
        return text

    content[0] = LINK.sub(on_site, content[0])


class Options(SphinxDirective):
    """Directive ``{options} PROBLEM VERB [but VERB]``: a table of a verb's options, without those of another verb."""

    required_arguments = 2
    optional_arguments = 2

    def run(self) -> list[nodes.Node]:
        problem, verb, *but = self.arguments
        known = {row["name"] for row in anyk.options(problem, but[1])} if but else set()
        # Leave out options that only the program uses, and those that are separate arguments in Python.
        known |= {"no_check", "format", "trace", "k", "count"} | ({"method"} if verb == "solve" else set())
        rows = [row for row in anyk.options(problem, verb) if row["name"] not in known]
        if not rows:
            return self.parse_text_to_nodes("No additional options.\n")
        lines = ["| option | | default |", "| --- | --- | --- |"]
        for row in rows:
            of = ", ".join(f"`{value}`" for value in row["of"]) if row["kind"] == "choice" else ""
            about = row["help"] + (f": {of}" if of else "")
            lines.append(f"| `{row['name']}` | {in_python(about)} | {in_python(row['default'])} |")
        return self.parse_text_to_nodes("\n".join(lines) + "\n")


def in_python(text: str) -> str:
    """Rewrite a text about flags for keyword arguments, and escape it for a table."""
    named = re.sub(r"`?--([a-z][a-z0-9-]*)`?", lambda flag: f"`{flag[1].replace('-', '_')}`", text)
    return named.replace("|", "\\|").replace("<", "&lt;")


def without_waiting(app: Sphinx, page: str, content: list[str]) -> None:
    """Remove pages that do not exist yet from the list of pages."""
    if page == "index":
        for name in waiting:
            content[0] = content[0].replace(f"\n{name}\n", "\n")


def nothing_is_left_out(app: Sphinx, env) -> None:
    """Warn about pages of docs/ and public names of the package that are missing from the site."""
    for file in sorted((root / "docs").glob("**/*.md")):
        page = file.relative_to(root / "docs").as_posix()
        if not page.startswith("site/") and page.removesuffix(".md") not in env.found_docs:
            logger.warning("docs/%s has no page on the site, expected docs/site/%s", page, page)
    documented = env.get_domain("py").objects
    for name in anyk.__all__:
        if not name.startswith("__") and f"anyk.{name}" not in documented:
            logger.warning("anyk.%s is public and not in docs/site/api.md", name)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.add_directive("options", Options)
    app.connect("include-read", links)
    app.connect("source-read", without_waiting)
    app.connect("autodoc-process-signature", typed_signature)
    app.connect("autodoc-process-docstring", typed_property)
    app.connect("env-updated", nothing_is_left_out)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
