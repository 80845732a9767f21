package report

import (
	"bytes"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"

	"dumptool/internal/batch"
	"dumptool/internal/dumpconf"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
	"dumptool/internal/store"
	"dumptool/internal/ui"
)

// ConfigChecks holds checked configurations.
type ConfigChecks struct {
	dumpconf.Checks
	// Folder is the base of relative file names; empty keeps absolute names.
	Folder string
	Tool   string // program and version
}

// ConfigName returns the name of a file for people.
func ConfigName(name string) string {
	if name == dumpconf.Stdin {
		return "<stdin>"
	}
	return name
}

// WriteConfigChecks writes the findings of all files.
func (t Text) WriteConfigChecks(w io.Writer, c *ConfigChecks) error {
	p := t.printerTo(w)
	for i := range c.Files {
		p.printFindings(ConfigName(c.Files[i].Name), c.Files[i].Report())
	}
	return p.err
}

// WriteConfigChecksJSON writes a JSON object per line for each file.
func WriteConfigChecksJSON(w io.Writer, c *ConfigChecks) error {
	return c.writeEach(w, func(f *dumpconf.FileCheck) []byte {
		r := f.Report()
		return append(marshal(struct {
			File     string             `json:"file"`
			Schema   string             `json:"schema"`
			Findings []dumpconf.Finding `json:"findings"`
		}{f.Name, r.Schema.String(), nonNilList(r.Findings)}, ""), '\n')
	})
}

// WriteConfigDiffs writes the changes of repairs, for patch -p1. Files that are no UTF-8 are left
// out.
func WriteConfigDiffs(w io.Writer, c *ConfigChecks) error {
	return c.writeEach(w, func(f *dumpconf.FileCheck) []byte {
		if !f.IsChanged() || !isShownAsDiff(f) {
			return nil
		}
		return ConfigDiff(c.diffName(f.Name), f.Source, f.Fixed)
	})
}

func isShownAsDiff(f *dumpconf.FileCheck) bool { return bytes.IndexByte(f.Source, 0) < 0 }

func (c *ConfigChecks) writeEach(w io.Writer, text func(f *dumpconf.FileCheck) []byte) error {
	for i := range c.Files {
		if _, err := w.Write(text(&c.Files[i])); err != nil {
			return err
		}
	}
	return nil
}

// diffName returns a file's name for patch -p1: relative to the folder if the file is below it,
// else its base name.
func (c *ConfigChecks) diffName(name string) string {
	if name == dumpconf.Stdin {
		return "stdin"
	}
	if store.IsAbs(name) {
		if inside, err := store.Rel(c.Folder, name); err == nil {
			name = inside
		}
	}
	if name = store.Clean(name); store.IsRemote(name) || !filepath.IsLocal(name) {
		name = store.Base(name)
	}
	return filepath.ToSlash(name)
}

// uri returns the URI of a file relative to the folder.
func (c *ConfigChecks) uri(name string) string {
	if name == dumpconf.Stdin {
		return "stdin"
	}
	return uriIn(c.Folder, name)
}

// uriIn returns the URI of a file relative to a folder.
func uriIn(folder, name string) string {
	path := store.Clean(name)
	if scheme, object, ok := strings.Cut(path, "://"); ok && store.IsRemote(path) {
		bucket, key, _ := strings.Cut(object, "/")
		return (&url.URL{Scheme: scheme, Host: bucket, Path: "/" + key}).String()
	}
	if store.IsAbs(path) {
		inside, err := store.Rel(folder, path)
		if err != nil || inside == ".." || strings.HasPrefix(inside, "../") {
			return (&url.URL{Scheme: "file", Path: path}).String()
		}
		path = inside
	}
	return (&url.URL{Path: filepath.ToSlash(path)}).String()
}

// Outcome returns the outcome of checks. fix repairs files, write also writes the repaired files,
// and strict treats warnings as errors.
func (c *ConfigChecks) Outcome(fix, write, strict bool) batch.Outcome {
	o := c.outcome(strict)
	for i := range c.Files {
		o.Messages = append(o.Messages, configMessages(&c.Files[i], write)...)
	}
	if len(c.Files) > 0 {
		o.Messages = append(o.Messages, batch.Infof("%s", configSummary(&c.Checks)))
	}
	if n := c.Fixable(); n > 0 && !fix {
		o.Messages = append(o.Messages, batch.Hintf("--fix shows how to repair %d of these, --fix --write does it", n))
	}
	return o
}

func (c *ConfigChecks) outcome(strict bool) batch.Outcome {
	switch {
	case len(c.Failed) > 0:
		return batch.Outcomef(batch.Incomplete, "%s could not be read or written", lang.CountText(len(c.Failed), "file")).AsShown()
	case c.Count(dumpconf.Error) > 0:
		return batch.Outcomef(batch.Found, "errors found").AsShown()
	case strict && c.Count(dumpconf.Warning) > 0:
		return batch.Outcomef(batch.Found, "warnings found").AsShown()
	}
	return batch.Outcome{}
}

// configMessages returns messages beside the findings in a file: what a repair does or did, and
// whether there is more to find.
func configMessages(f *dumpconf.FileCheck, written bool) []batch.Message {
	name := ConfigName(f.Name)
	var all []batch.Message
	if f.IsChanged() && !written && !isShownAsDiff(f) {
		all = append(all, batch.Warnf("%s is not UTF-8: the change cannot be shown, --write makes it", name))
	}
	if f.Report().More && (f.After == nil || written) {
		all = append(all, batch.Warnf("%s: more findings may appear once this is repaired", name))
	}
	switch {
	case f.After == nil || written && !f.Written:
	case written && f.IsChanged():
		if left := f.After.Count(dumpconf.Error); left == 0 {
			all = append(all, batch.Infof("%s is repaired: findings before %s, left %s", name, findingCount(f.Before), findingCount(f.After)))
		} else {
			all = append(all, batch.Infof("%s is changed, but not repaired: findings before %s, left %s, of them %s",
				name, findingCount(f.Before), findingCount(f.After), lang.CountText(left, "error")))
		}
	case f.IsChanged():
		all = append(all, batch.Infof("%s: findings now %s, after this change %s", name, findingCount(f.Before), findingCount(f.After)))
	case len(f.Before.Findings) == 0:
	case written:
		all = append(all, batch.Infof("%s is not changed: nothing can be repaired automatically", name))
	default:
		all = append(all, batch.Infof("%s: nothing can be repaired automatically", name))
	}
	return all
}

// findingCount counts the listed findings of a report.
func findingCount(r *dumpconf.Report) lang.Sentence {
	switch n := len(r.Findings); {
	case n == 0:
		return lang.Say("config_check¦none")
	case r.More:
		return lang.Say("more than %d", n)
	default:
		return lang.Say("%d", n)
	}
}

// configSummary counts the findings in all files.
func configSummary(c *dumpconf.Checks) lang.Sentence {
	var parts []lang.Sentence
	add := func(s dumpconf.Severity, noun string) {
		if n := c.Count(s); n > 0 {
			parts = append(parts, lang.Say("%s", lang.CountText(n, noun)))
		}
	}
	add(dumpconf.Error, "error")
	add(dumpconf.Warning, "warning")
	add(dumpconf.Info, "hint")
	found, last := lang.Join(parts, lang.Text{EN: ", "}), &c.Files[len(c.Files)-1]
	switch {
	case len(c.Files) > 1 && found.IsZero():
		return lang.Say("nothing found in %d files", len(c.Files))
	case len(c.Files) > 1:
		return lang.Say("%s in %d of %d files", found, c.FaultyFiles(), len(c.Files))
	case found.IsZero():
		return lang.Say("nothing found in %s (checked as %s)", ConfigName(last.Name), last.Before.Schema)
	default:
		return lang.Say("%s in %s", found, ConfigName(last.Name))
	}
}

// NewConfigMessages returns messages on a generated configuration: the hints of its check, and the next
// steps.
func NewConfigMessages(made *dumpconf.NewFile, check *dumpconf.Report) []batch.Message {
	var all []batch.Message
	for i := range check.Findings {
		switch f := &check.Findings[i]; f.Severity {
		case dumpconf.Warning:
			all = append(all, batch.Warnf("%s", f.Message))
		case dumpconf.Info:
			all = append(all, batch.Infof("%s", f.Message))
		}
	}
	for _, step := range made.Next {
		all = append(all, batch.Hintf("%s", step))
	}
	return all
}

// ConfigDiff returns the change of a file as a unified diff for patch -p1 and git apply; empty
// without a change.
func ConfigDiff(name string, before, after []byte) []byte {
	change := diff.Diff("", before, "", after)
	// Replace the heading, which does not quote names.
	for range 3 {
		_, change, _ = bytes.Cut(change, []byte("\n"))
	}
	if len(change) == 0 {
		return nil
	}
	name = strings.TrimLeft(name, "/")
	heading := fmt.Sprintf("--- %s\n+++ %s\n", diffName("a/"+name), diffName("b/"+name))
	return append([]byte(heading), change...)
}

// diffName quotes a file name as git does: in quotes if it contains characters that end a line or a
// name, and with a tab after a name with blanks.
func diffName(name string) string {
	switch {
	case ui.Escape(name) != name || strings.ContainsAny(name, `"\`):
		return quoteBytes(name)
	case strings.Contains(name, " "):
		return name + "\t"
	}
	return name
}

// quoteBytes quotes a name as C does, with octal escapes.
func quoteBytes(name string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(name) {
		switch c := name[i]; {
		case c == '"' || c == '\\':
			b.WriteString(`\` + string(c))
		case c < ' ' || c >= 0x7f:
			b.WriteString(`\` + fmt.Sprintf("%03s", strconv.FormatUint(uint64(c), 8)))
		default:
			b.WriteByte(c)
		}
	}
	return b.String() + `"`
}

// excerptWidth is the width of excerpts without a terminal.
const excerptWidth = 120

// printFindings prints the findings of a report in the form of compilers, which editors parse. The name
// stands before each. Without a terminal a message is one line; excerpts are always cut.
func (p *printer) printFindings(name string, r *dumpconf.Report) {
	text := configTextOf(r)
	for i := range r.Findings {
		f := &r.Findings[i]
		p.printFinding(name, f.TextRange, f.Severity.String(), p.sentence(f.Message)+configCodes(f))
		p.printExcerpt(text, f.TextRange)
		if f.Suggestion != "" {
			p.writeWrapped("      = ", "        ", p.format("suggestion: ")+f.Suggestion)
		}
		for _, other := range f.Related {
			p.printFinding(name, other.TextRange, "note", p.sentence(other.Message))
			p.printExcerpt(text, other.TextRange)
		}
	}
}

// configCodes returns the rule of a finding and the runtime's own code.
func configCodes(f *dumpconf.Finding) string {
	if f.Code == "" {
		return " [" + f.Rule + "]"
	}
	return " [" + f.Rule + ", " + f.Code + "]"
}

// printFinding prints the place, the severity and the message of a finding.
func (p *printer) printFinding(name string, at dumpconf.TextRange, kind, message string) {
	p.wrappedWith(kind, "", tabText, fmt.Sprintf("%s:%d:%d: %s: %s", name, at.Line, at.Column, kind, message))
}

// printExcerpt prints the line of a place, and a mark below it.
func (p *printer) printExcerpt(text configText, at dumpconf.TextRange) {
	if len(text) == 0 {
		return
	}
	gutter := fmt.Sprintf("%5d |", at.Line)
	width := p.Width
	if width <= 0 {
		width = excerptWidth
	}
	start, end := text.span(at)
	e := newExcerpt(text, start, end, width-len(gutter)-1)
	caret := strings.TrimLeft(e.mark, " ")
	p.print(strings.TrimRight(gutter+" "+e.line, " ") + "\n")
	p.print(strings.Repeat(" ", len(gutter)-1) + "| " + strings.TrimSuffix(e.mark, caret) + p.paint(ui.Mark, caret) + "\n")
}

// configText is the text of a report's places; nil if there is no text to show.
type configText []byte

func configTextOf(r *dumpconf.Report) configText {
	noText := func(p jsonpos.Problem) bool {
		return p.Cause == jsonpos.Binary || p.Cause == jsonpos.UTF16 && r.Doc.Root == nil
	}
	if slices.ContainsFunc(r.Doc.Problems, noText) {
		return nil
	}
	return r.Doc.Source()
}

// span returns the byte range of a place.
func (t configText) span(at dumpconf.TextRange) (start, end int) {
	start = min(max(at.Offset, 0), len(t))
	return start, start + min(max(at.Length, 0), len(t)-start)
}

// end returns the line and column behind a place.
func (t configText) end(at dumpconf.TextRange) (line, column int) {
	start, end := t.span(at)
	covered := t[start:end]
	if i := bytes.LastIndexByte(covered, '\n'); i >= 0 {
		return at.Line + bytes.Count(covered, []byte{'\n'}), utf8.RuneCount(covered[i+1:]) + 1
	}
	return at.Line, at.Column + utf8.RuneCount(covered)
}

// excerpt is a line of a text, or the part around a place.
type excerpt struct {
	line string
	mark string // carets below the place
}

const (
	ellipsis = "…"
	tabText  = "    " // a tab, whose intended width is unknown
)

// newExcerpt returns the line on which the range from start to end begins. A line wider than room
// columns is cut around the place. It reads no more of the text than needed.
func newExcerpt(text []byte, start, end, room int) excerpt {
	room = max(room, 8)
	before, atStart := cellsUpTo(text[:start], room)
	line, atEnd := cellsAfter(text[start:end], room)
	place := len(line) // the number of cells up to the end of the place
	if atEnd && bytes.IndexByte(text[start:end], '\n') < 0 {
		var after []string
		after, atEnd = cellsAfter(text[end:], room)
		line = append(line, after...)
	}
	lead, rest := columnsOf(before), columnsOf(line)
	if !atStart || lead+rest > room || !atEnd {
		keep := room - 2 // an ellipsis on either side
		if !atStart || lead > keep/2 {
			lead = max(keep/3, keep-rest)
		}
		before = lastColumns(before, lead, !atStart)
		all := len(line)
		line = firstColumns(line, room-columnsOf(before)-1, !atEnd)
		atEnd = atEnd && len(line) == all
	}
	tail := ""
	if !atEnd {
		tail = ellipsis
	}
	place = min(place, len(line))
	return excerpt{
		line: strings.TrimRight(strings.Join(before, "")+strings.Join(line, "")+tail, " "),
		mark: strings.Repeat(" ", columnsOf(before)) + "^" + strings.Repeat("~", max(0, columnsOf(line[:place])-1)),
	}
}

// columnsOf returns the width of cells in columns.
func columnsOf(cells []string) int {
	width := 0
	for _, cell := range cells {
		width += ui.Columns.StringWidth(cell)
	}
	return width
}

// cellsUpTo returns the characters before the end of text on its line, as cells, a little over
// room columns at most. whole is false if the line has more.
func cellsUpTo(text []byte, room int) (cells []string, whole bool) {
	width := 0
	for len(text) > 0 && text[len(text)-1] != '\n' && width <= room {
		r, n := utf8.DecodeLastRune(text)
		cells = append(cells, cellOf(r, text[len(text)-n:]))
		width += ui.Columns.StringWidth(cells[len(cells)-1])
		text = text[:len(text)-n]
	}
	slices.Reverse(cells)
	return cells, len(text) == 0 || text[len(text)-1] == '\n'
}

// cellsAfter is like cellsUpTo for the start of text.
func cellsAfter(text []byte, room int) (cells []string, whole bool) {
	ends := func() bool { return len(text) == 0 || text[0] == '\n' || bytes.HasPrefix(text, []byte("\r\n")) }
	for width := 0; !ends() && width <= room; {
		r, n := utf8.DecodeRune(text)
		cells = append(cells, cellOf(r, text[:n]))
		width += ui.Columns.StringWidth(cells[len(cells)-1])
		text = text[n:]
	}
	return cells, ends()
}

// cellOf returns the visible form of a character.
func cellOf(r rune, bytes []byte) string {
	if r == '\t' {
		return tabText
	}
	return ui.Escape(string(bytes))
}

// lastColumns keeps the last columns of cells, behind an ellipsis if something was cut.
func lastColumns(cells []string, columns int, cut bool) []string {
	i := len(cells)
	for width := 0; i > 0; i-- {
		if width += ui.Columns.StringWidth(cells[i-1]); width > columns {
			break
		}
	}
	if i > 0 || cut {
		return append([]string{ellipsis}, cells[i:]...)
	}
	return cells
}

// firstColumns keeps the first columns of cells. The last cell of a line may use the column of the
// ellipsis, unless something was cut already.
func firstColumns(cells []string, columns int, cut bool) []string {
	width := 0
	for i, cell := range cells {
		width += ui.Columns.StringWidth(cell)
		if width > columns && (i+1 < len(cells) || cut || width > columns+1) {
			return cells[:i]
		}
	}
	return cells
}

// ConfigExplanation is the explanation of a file.
type ConfigExplanation struct {
	Name string
	*dumpconf.Explanation
	Refused *dumpconf.Finding // first finding that the runtime refuses, or nil
}

// WriteConfigExplanation writes an explanation: the file and its schema, then the sections with
// their lines.
func (t Text) WriteConfigExplanation(w io.Writer, e *ConfigExplanation) error {
	p := t.printerTo(w)
	p.print(ui.Escape(ConfigName(e.Name)) + " (" + e.Schema.String() + ")\n")
	for _, s := range e.Sections {
		p.print("\n" + t.Lang.Text(s.Title) + "\n")
		for _, line := range s.Lines {
			p.writeWrapped("  - ", "    ", t.Lang.Text(line))
		}
	}
	return p.err
}

// WriteConfigExplanationJSON writes an explanation as an object on one line.
func WriteConfigExplanationJSON(w io.Writer, e *ConfigExplanation) error {
	type section = dumpconf.Section
	sections := Table[section]{Rows: e.Sections, Columns: []Column[section]{
		textColumn("name", func(s section) string { return s.Name }),
		textColumn("title", func(s section) string { return s.Title.String() }),
		textColumn("lines", func(s section) any {
			lines := []string{}
			for _, line := range s.Lines {
				lines = append(lines, line.String())
			}
			return lines
		}),
	}}
	return writeLine(w, struct {
		File     string            `json:"file"`
		Schema   string            `json:"schema"`
		Active   bool              `json:"active"`
		Error    *dumpconf.Finding `json:"error,omitempty"`
		Sections Table[section]    `json:"sections"`
		Patterns []string          `json:"patterns"`
		Commands []string          `json:"commands"`
	}{e.Name, e.Schema.String(), e.Active, e.Refused, sections, nonNilList(e.Patterns), nonNilList(e.Commands)})
}
