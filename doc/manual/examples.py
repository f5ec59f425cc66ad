# SPDX-License-Identifier: BSD-2-Clause
"""Sphinx extension: examples that a test runs (tests/doc).

Directives, each with an example as its content:

    .. knot-conf:: [PATH]     A configuration. It must pass `knotc conf-check`; with PATH it is also written there, for what follows.
        :refused: TEXT        It must not: TEXT is in what conf-check says.
    .. file:: PATH            Any other file, written to PATH.
        :language: NAME       Highlighting.
    .. sample:: NAME          The file NAME of samples/, written to the folder in which the commands run.
        :language: NAME       Highlighting.
    .. session::              Commands and what they print. A line that begins with a prompt ("# ", "$ ", "client$ ") is a command.
        :status: N            Exit status of the last command, if it isn't 0, or 1 of a knotc or kdig that shows an error.
        :numbers: vary        Any number may be in place of a number shown.
        :meanwhile: COMMAND   The client runs it again and again meanwhile; a command that hasn't seen enough of it is run again.
        :again: REASON        A command that prints something else is run again, for a while: what it measures depends on what else the machine does.
    .. prepare::              A shell script that the test needs, and readers don't. `wait-for COMMAND` in it waits until the command succeeds.
    .. log::                  Log lines. The server's sources must contain their message.

Every directive takes `:not-run: REASON`, and the test leaves it out; and `:needs-module: NAME`: left out where Python has no such module. In what a command prints, an ellipsis (U+2026) stands for any
text within the line, or on a line of its own for any lines; blanks may differ in number, time stamps in their time.
"""
import pathlib

from docutils import nodes
from docutils.parsers.rst import Directive, directives
from pygments.lexer import RegexLexer, bygroups
from pygments.token import Comment, Generic, Keyword, Name, Punctuation, String, Text


class ConfigurationLexer(RegexLexer):
    """knot.conf."""
    name = "knot.conf"
    tokens = {"root": [
        (r"(?<![^\s])#[^\n]*", Comment),
        (r'"(?:\\.|[^"\\\n])*"', String),
        (r"^([\w./*-]+)( *:)", bygroups(Keyword, Punctuation)),
        (r"^( *(?:- +)?)([\w./*-]+)( *:)", bygroups(Text, Name.Attribute, Punctuation)),
        (r"[\[\],]", Punctuation),
        (r'[^\s\[\],"#]+', Text),
        (r"\s+", Text),
        (r".", Text),
    ]}


class SessionLexer(RegexLexer):
    """Prompts, commands, what they print."""
    name = "session"
    tokens = {"root": [
        (r"^((?:\w+)?[#$] )([^\n]*\n)", bygroups(Generic.Prompt, Name.Builtin)),
        (r"[^\n]*\n", Text),
    ]}


class Example(Directive):
    """A literal block; its options are for the test, but `not-run`'s reason is a comment in the page's source only."""
    has_content = True
    language = "text"
    option_spec = {"not-run": directives.unchanged_required, "needs-module": directives.unchanged_required}

    def run(self):
        self.assert_has_content()
        block = nodes.literal_block("\n".join(self.content), "\n".join(self.content))
        block["language"] = self.options.get("language", self.language)
        self.add_name(block)
        self.set_source_info_of(block)
        return [*self.heading(), block]

    def set_source_info_of(self, node):
        node.source, node.line = self.state_machine.get_source_and_line(self.lineno)

    def heading(self):
        if not self.arguments:
            return []
        paragraph = nodes.paragraph()
        paragraph += nodes.literal(self.arguments[0], self.arguments[0])
        paragraph += nodes.Text(":")
        return [paragraph]


class KnotConf(Example):
    language = "knot.conf"
    optional_arguments = 1
    option_spec = {**Example.option_spec, "refused": directives.unchanged_required}


class File(Example):
    required_arguments = 1
    option_spec = {**Example.option_spec, "language": directives.unchanged_required}


class Sample(File):
    """A file that is kept elsewhere: the build puts samples/ beside the sources."""
    has_content = False

    def run(self):
        path = pathlib.Path(self.state.document.settings.env.srcdir) / "samples" / self.arguments[0]
        self.state.document.settings.record_dependencies.add(str(path))
        self.content = path.read_text(encoding="utf-8").rstrip("\n").split("\n")
        self.arguments[0] = f"samples/{self.arguments[0]}"
        return super().run()


class Session(Example):
    language = "session"
    option_spec = {**Example.option_spec, "status": directives.nonnegative_int, "numbers": lambda a: directives.choice(a, ("vary",)),
                   "meanwhile": directives.unchanged_required, "again": directives.unchanged_required}


class Prepare(Example):
    def run(self):
        return []


def item_role(_name, rawtext, text, lineno, inliner, _options=None, _content=None):
    """:item:`section.item`: a link to the item in the reference; :item:`section` to the section."""
    from sphinx import addnodes
    node = addnodes.pending_xref("", refdomain="std", reftype="item", reftarget="conf-" + text.replace(".", "-"), refexplicit=True, refwarn=True)
    node.source, node.line = inliner.reporter.get_source_and_line(lineno)
    node += nodes.literal(rawtext, text, classes=["xref"])
    return [node], []


def resolve_item(app, env, node, contnode):
    """The label of an item or section in the generated reference."""
    if node.get("reftype") != "item":
        return None
    from sphinx.util.nodes import make_refnode
    document, label = env.get_domain("std").anonlabels.get(node["reftarget"], ("", ""))
    if not document:
        return None
    return make_refnode(app.builder, node["refdoc"], document, label, contnode)


def setup(app):
    app.add_lexer("knot.conf", ConfigurationLexer)
    app.add_lexer("session", SessionLexer)
    app.add_directive("knot-conf", KnotConf)
    app.add_directive("file", File)
    app.add_directive("sample", Sample)
    app.add_directive("session", Session)
    app.add_directive("prepare", Prepare)
    app.add_directive("log", Example)
    app.add_role("item", item_role)
    app.connect("missing-reference", resolve_item)
    return {"parallel_read_safe": True}
