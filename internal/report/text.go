package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"dumptool/internal/lang"
	"dumptool/internal/lists"
	"dumptool/internal/ui"
)

// Lang is the language of texts for people. It implements a flag value; the zero value is English.
type Lang string

// The languages.
const (
	English Lang = "en"
	Chinese Lang = "zh"
)

// Set implements the value of a flag.
func (l *Lang) Set(s string) error {
	switch v := Lang(strings.ToLower(s)); v {
	case English, Chinese:
		*l = v
		return nil
	}
	return lang.Errorf("must be %s or %s", English, Chinese)
}

// String implements the value of a flag.
func (l *Lang) String() string { return string(*l) }

// Type implements the value of a flag.
func (l *Lang) Type() string { return "en|zh" }

// Text returns t in the language.
func (l Lang) Text(t lang.Text) string {
	if l == Chinese {
		return t.Chinese()
	}
	return t.String()
}

// Text describes how reports are printed for people.
type Text struct {
	Lang Lang
	// Width is the width of the terminal in columns, 0 to disable wrapping.
	Width int
	// ASCII avoids bars and blocks.
	ASCII bool
	// Matrix shows the rounds of a comparison by ranks and steps.
	Matrix bool
	// All lists operators without a verdict one by one.
	All bool
	// Color highlights statuses, severities and carets.
	Color bool
}

// paint returns text in a style, unchanged without colours.
func (t Text) paint(s ui.Style, text string) string {
	if !t.Color {
		return text
	}
	return s.Paint(text)
}

// format formats a text in the language of t. Arguments that are texts or sentences are translated too.
func (t Text) format(en string, args ...any) string {
	return t.sentence(lang.Say(en, args...))
}

// sentence returns a sentence in the language.
func (t Text) sentence(s lang.Sentence) string { return t.Lang.Text(s.Text()) }

// sentences returns sentences in the language.
func (t Text) sentences(sentences []lang.Sentence) []string {
	return lists.Map(sentences, t.sentence)
}

// count formats a number of things, such as 2 files.
func count(n int, noun string) lang.Text {
	return lang.CountText(n, noun)
}

// tensors formats a number of tensors.
func tensors(n int) lang.Text { return count(n, "tensor") }

// printerTo returns a printer to w.
func (t Text) printerTo(w io.Writer) *printer { return &printer{Text: t, w: w} }

// printer writes lines and keeps the first error.
type printer struct {
	Text
	w       io.Writer
	started bool
	err     error
	// markdown writes Markdown: headings, paragraphs, tables and lists. inList: the last line is an
	// item of a list.
	markdown, inList bool
}

// markdownTo returns a printer of Markdown, which begins with a title.
func (t Text) markdownTo(w io.Writer, title string) *printer {
	t.Width, t.Color = 0, false
	p := t.printerTo(w)
	p.markdown = true
	p.print("## " + escapeMarkdown(title) + "\n")
	return p
}

// item writes an item of a list in Markdown.
func (p *printer) item(indent, text string) {
	if !p.inList {
		p.print("\n")
	}
	p.inList = true
	p.print(indent + "- " + text + "\n")
}

// paragraph writes text as a paragraph, a table or a heading in Markdown.
func (p *printer) paragraph(text string) {
	p.inList = false
	p.print("\n" + text + "\n")
}

func (p *printer) print(text string) {
	p.started = true
	if p.err == nil {
		_, p.err = io.WriteString(p.w, text)
	}
}

// writeBlankLine writes an empty line between two parts; Markdown has them before each.
func (p *printer) writeBlankLine() {
	if p.started && !p.markdown {
		p.print("\n")
	}
}

// writeWrapped writes text, escaped and wrapped at the width of the terminal, with the prefix first on
// its first line and rest on the others.
func (p *printer) writeWrapped(first, rest, text string) { p.wrappedWith("", first, rest, text) }

// wrappedWith is wrapped, with the first occurrence of word and a colon, a status or a severity,
// highlighted.
func (p *printer) wrappedWith(word, first, rest, text string) {
	room := func(prefix string) int {
		if p.Width <= 0 {
			return 0
		}
		return max(1, p.Width-ui.Columns.StringWidth(prefix))
	}
	for i, part := range ui.Wrap(ui.Escape(text), room(first), room(rest)) {
		if i > 0 {
			first = rest
		}
		line := strings.TrimRight(first+part, " ")
		if before, after, found := strings.Cut(" "+line, " "+word+":"); found && word != "" {
			line, word = strings.TrimPrefix(before+" ", " ")+p.paint(ui.StyleOf(word), word+":")+after, ""
		}
		p.print(line + "\n")
	}
}

// textIndent indents text that belongs to the line above.
const textIndent = "  "

// text writes a paragraph.
func (p *printer) text(text string) {
	if p.markdown {
		p.paragraph(escapeMarkdown(text))
		return
	}
	p.writeWrapped("", "", text)
}

// heading writes a line above indented lines.
func (p *printer) heading(text string) {
	if p.markdown {
		p.paragraph("### " + escapeMarkdown(text))
		return
	}
	p.line("", text)
}

// printTable writes a table; on a terminal names keep at least least columns.
func printTable[R any](p *printer, t Table[R], least int) {
	p.table("", t.Grid(p.Lang).fit(p.Width, least))
}

// legend explains the codes of a table, each once.
func (p *printer) legend(codes []string, words func(code string) string) {
	var parts []string
	for i, code := range codes {
		if text := words(code); code != "" && text != "" && !slices.Contains(codes[:i], code) {
			parts = append(parts, p.format("%s: %s", code, text))
		}
	}
	if parts != nil {
		p.text(p.format("Codes: %s", strings.Join(parts, p.Lang.Text(lang.Text{EN: "; "}))))
	}
}

// line writes an indented text, in Markdown an item of a list; without an indent a paragraph.
func (p *printer) line(indent, text string) {
	switch deeper, indented := strings.CutPrefix(indent, textIndent); {
	case !p.markdown:
		p.writeWrapped(indent, indent+textIndent, text)
	case indented:
		p.item(deeper, escapeMarkdown(text))
	default:
		p.paragraph(escapeMarkdown(text))
	}
}

// printLabeled writes an indented line with a label.
func (p *printer) printLabeled(en, text string) {
	p.line(textIndent, p.format("%s: ", p.format(en))+text)
}

// summaryItem is an item of a summary: a label, lines of text, and files.
type summaryItem struct {
	label string
	lines []string
	files []sideFile
}

// factList collects facts.
type factList []summaryItem

// add adds a fact with the non-empty lines, if there are any.
func (f *factList) add(label string, lines ...string) {
	if lines = slices.DeleteFunc(lines, func(line string) bool { return line == "" }); len(lines) > 0 {
		*f = append(*f, summaryItem{label: label, lines: lines})
	}
}

// sideFile is a file with its side of a comparison.
type sideFile struct{ side, path string }

// labelWidth is the width of the labels of facts, including the gap.
const labelWidth = 16

// facts writes labels with texts beside them.
func (p *printer) facts(facts []summaryItem) {
	for _, f := range facts {
		label := f.label
		if p.markdown {
			lines := f.lines
			for _, file := range f.files {
				lines = append(lines, file.side+p.format(": ")+file.path)
			}
			indent, head := "", "**"+label+"**"+p.format(": ")
			for _, line := range lines {
				p.item(indent, head+escapeMarkdown(line))
				indent, head = textIndent, ""
			}
			continue
		}
		for _, line := range f.lines {
			p.writeWrapped(pad(label, labelWidth), pad("", labelWidth)+textIndent, line)
			label = ""
		}
		for _, file := range f.files {
			p.path(pad(label, labelWidth), file.side+p.format(": "), file.path)
			label = ""
		}
	}
}

// table writes a grid, cut to the width of the terminal.
func (p *printer) table(indent string, g Grid) { p.grid(indent, g, p.Width) }

// grid writes a grid, cut to a width unless 0.
func (p *printer) grid(indent string, g Grid, width int) {
	if p.markdown {
		p.paragraph(g.markdown())
		return
	}
	p.started = true
	if p.err == nil {
		t := p.Text
		t.Width = width
		p.err = g.Print(p.w, indent, t)
	}
}

// fitsTerminal reports whether the terminal is wide enough for a table.
func (p *printer) fitsTerminal(g Grid) bool {
	return p.Width <= 0 || len(textIndent)+g.Width() <= p.Width
}

// path writes a line with a label and a path. On a narrow terminal the path gets its own line,
// indented less if that keeps it whole.
func (p *printer) path(indent, label, path string) {
	if p.markdown {
		p.line(indent, label+path)
		return
	}
	path = ui.Escape(path)
	fits := func(prefix string) bool { return p.Width <= 0 || ui.Columns.StringWidth(prefix+path) <= p.Width }
	if fits(indent + label) {
		p.print(indent + label + path + "\n")
		return
	}
	if head := strings.TrimRight(indent+label, " "); head != "" {
		p.print(head + "\n")
	}
	deeper := pad("", ui.Columns.StringWidth(indent)) + textIndent
	if !fits(deeper) {
		deeper = textIndent + textIndent
	}
	for _, part := range breakPath(path, p.Width-len(deeper)) {
		p.print(deeper + part + "\n")
	}
}

// breakPath breaks a path behind slashes into parts of at most width columns. A name is never
// broken.
func breakPath(path string, width int) []string {
	parts := []string{""}
	for name := range strings.SplitAfterSeq(path, "/") {
		last := &parts[len(parts)-1]
		if *last != "" && ui.Columns.StringWidth(*last+name) > width {
			parts = append(parts, name)
			continue
		}
		*last += name
	}
	return parts
}

// join joins the non-empty parts of an enumeration.
func (t Text) join(parts ...string) string {
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	return strings.Join(parts, t.Lang.Text(comma))
}

// Version describes the program: its version, compiler and platform.
type Version struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

// WriteVersion prints a version on one line.
func (Text) WriteVersion(w io.Writer, v Version) error {
	_, err := fmt.Fprintf(w, "dumptool %s %s %s/%s\n", v.Version, v.Go, v.OS, v.Arch)
	return err
}
