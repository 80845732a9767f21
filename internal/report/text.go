package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"dumptool/internal/lang"
	"dumptool/internal/ui"
)

// Lang is the language of texts for people. It has the methods of a flag
// value; the zero value is English.
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
		return t.ZH
	}
	return t.EN
}

// Text says how reports are printed for people.
type Text struct {
	Lang Lang
	// Width is the number of columns of the terminal, 0 to break nothing.
	Width int
	// ASCII is set where bars and blocks cannot be shown.
	ASCII bool
	// Matrix shows the rounds of a comparison by ranks and steps.
	Matrix bool
	// Color lets statuses, severities and carets stand out.
	Color bool
}

// paint returns text in a style, as it is without colours.
func (t Text) paint(s ui.Style, text string) string {
	if !t.Color {
		return text
	}
	return s.Paint(text)
}

// say returns one of two texts that are no data, with the verbs of fmt for the same
// arguments: texts and sentences among them are in the language too.
func (t Text) say(en, zh string, args ...any) string {
	return t.of(lang.Sayf(en, zh, args...))
}

// of is a sentence in the language.
func (t Text) of(s lang.Sentence) string { return t.Lang.Text(s.Text()) }

// all are sentences in the language.
func (t Text) all(sentences []lang.Sentence) []string {
	var texts []string
	for _, s := range sentences {
		texts = append(texts, t.of(s))
	}
	return texts
}

// count prints a number of things, such as 2 files.
func count(n int, noun, zh string) lang.Text {
	return lang.CountText(n, noun, "个"+zh)
}

// tensors counts tensors.
func tensors(n int) lang.Text { return count(n, "tensor", "张量") }

// to returns a printer to w.
func (t Text) to(w io.Writer) *printer { return &printer{Text: t, w: w} }

// printer writes lines and keeps the first error.
type printer struct {
	Text
	w       io.Writer
	started bool
	err     error
	// markdown is set for a document in Markdown: paragraphs, tables, items and facts.
	markdown bool
}

func (p *printer) print(text string) {
	p.started = true
	if p.err == nil {
		_, p.err = io.WriteString(p.w, text)
	}
}

// blank writes an empty line between two parts.
func (p *printer) blank() {
	if p.started {
		p.print("\n")
	}
}

// wrapped writes text, escaped and broken at the width of the terminal, with first
// in front of its first line and rest in front of the others.
func (p *printer) wrapped(first, rest, text string) { p.wrappedWith("", first, rest, text) }

// wrappedWith writes text like wrapped, in which a word with a colon behind it, a
// status or a severity, stands out where it comes first.
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

// textIndent is in front of what belongs to the line above.
const textIndent = "  "

// gap is a blank line where paragraphs and tables need one in Markdown.
func (p *printer) gap() {
	if p.markdown {
		p.blank()
	}
}

// text writes a paragraph.
func (p *printer) text(text string) {
	if p.markdown {
		p.print(markdown(text) + "\n")
		return
	}
	p.wrapped("", "", text)
}

// item writes text with indent in front, in Markdown an item of a list.
func (p *printer) item(indent, text string) {
	if p.markdown {
		p.print(indent + "- " + markdown(text) + "\n")
		return
	}
	p.line(indent, text)
}

// printTable writes a table, for the terminal one in which names keep some columns.
func printTable[R any](p *printer, t Table[R], least int) {
	if !p.markdown {
		p.table("", t.Grid(p.Lang).fit(p.Width, least))
		return
	}
	var b strings.Builder
	t.Markdown(&b)
	p.print(b.String())
}

// line writes text with indent in front.
func (p *printer) line(indent, text string) { p.wrapped(indent, indent+textIndent, text) }

// labeled writes a line with a label in front.
func (p *printer) labeled(en, zh, text string) {
	p.line(textIndent, p.say(en+": ", zh+"：")+text)
}

// fact is an item of a summary: a label, lines of text, and files.
type fact struct {
	label string
	lines []string
	files []sideFile
}

// factList collects facts.
type factList []fact

// add adds a fact, unless none of its lines says anything.
func (f *factList) add(label string, lines ...string) {
	if lines = slices.DeleteFunc(lines, func(line string) bool { return line == "" }); len(lines) > 0 {
		*f = append(*f, fact{label: label, lines: lines})
	}
}

// sideFile is a file, and which side of a comparison it is.
type sideFile struct{ side, path string }

// labelWidth is the width of the labels of facts, the gap behind them included.
const labelWidth = 16

// facts writes labels with their texts beside them.
func (p *printer) facts(facts []fact) {
	if p.markdown {
		var b strings.Builder
		p.markdownFacts(&b, facts)
		p.print(strings.TrimPrefix(b.String(), "\n"))
		return
	}
	for _, f := range facts {
		label := f.label
		for _, line := range f.lines {
			p.wrapped(pad(label, labelWidth), pad("", labelWidth)+textIndent, line)
			label = ""
		}
		for _, file := range f.files {
			p.path(pad(label, labelWidth), file.side+p.say(": ", "："), file.path)
			label = ""
		}
	}
}

// table writes a grid, cut to the width of the terminal.
func (p *printer) table(indent string, g Grid) { p.grid(indent, g, p.Width) }

// grid writes a grid, cut to a width other than 0.
func (p *printer) grid(indent string, g Grid, width int) {
	p.started = true
	if p.err == nil {
		t := p.Text
		t.Width = width
		p.err = g.Print(p.w, indent, t)
	}
}

// fits reports whether the terminal is wide enough for a table.
func (p *printer) fits(g Grid) bool { return p.Width <= 0 || len(textIndent)+g.Width() <= p.Width }

// path writes a line with a label and a path. Where the terminal is too narrow the
// path stands alone below the label, and further to the left if that keeps it whole.
func (p *printer) path(indent, label, path string) {
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

// breakPath breaks a path behind folders into parts of at most width columns. A
// name is never broken, however long it is.
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

// join joins the parts of an enumeration that are not empty.
func (t Text) join(parts ...string) string {
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	return strings.Join(parts, t.Lang.Text(comma))
}

// Version is what the program is: its version, and what it was built with and
// for.
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
