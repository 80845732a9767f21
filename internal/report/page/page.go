// Package page writes report.html: one file with a comparison, overflow records and other results,
// for a browser without a network. It draws the contents of compare.json and opens no tensor.
//
// The page holds its data in elements of type application/json, and one script that builds the
// rest. Nothing is loaded from elsewhere; a Content-Security-Policy allows only that script and
// style.
package page

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/store"
	"dumptool/internal/ui"
)

// Comparison is a comparison to show.
type Comparison struct {
	*record.Report
	// Headline is the verdict in one line.
	Headline lang.Text
	// Facts are shown below the headline.
	Facts []Fact
	// Labels lists the labels of the rows.
	Labels []string
	// Files maps rows to the names of files beside the page with more details.
	Files map[int][]string
	// Before is an earlier comparison shown beside this one, nil for none, and BeforeHeadline its
	// verdict in one line.
	Before         *record.Report
	BeforeHeadline lang.Text
	// Paths are the paths of the documents of Before and of this comparison.
	Paths [2]string
	// rows is gathered by Write.
	rows *gathered
}

// Fact is a labelled statement in the head of a comparison.
type Fact struct {
	Label lang.Text
	Lines []lang.Text
}

// Options says how a page looks, and what it shows beside the comparison.
type Options struct {
	// Lang is the initial language of the page, en or zh; empty for the browser's language.
	Lang string
	// Title is the title of the page; empty for one made from the compared paths.
	Title string
	// NoPaths reduces all paths to their last part.
	NoPaths bool
	// Overflow, Determinism, Perf and Checked are the documents of these commands, Checked of
	// check, Headroom of overflow scan --headroom; nil for none.
	Overflow, Headroom, Determinism, Perf, Checked json.RawMessage
}

// maxSize is the size of a page's data in bytes, kept by omitting details of rows. It leaves room
// for the script and the style.
const maxSize = 4_600_000

// Write writes a page. The comparison may be nil.
func Write(w io.Writer, c *Comparison, opt Options) error {
	d := data{V: version, Title: opt.Title, Lang: opt.Lang}
	if err := d.read(&opt); err != nil {
		return err
	}
	if c != nil {
		shown := *c
		c, shown.rows = &shown, rowsOf(c.Report)
	}
	v := view{chinese: opt.Lang == "zh", title: "dumptool"}
	if opt.NoPaths {
		v.pathless = newPathless(pathsOf(c, &d))
	}
	var blocks []block
	if c != nil {
		d.Run = dataOf(c)
		if c.Before != nil {
			d.Before = sideOf(c, opt.NoPaths)
		}
		if d.Title == "" {
			d.Title = titleOf(c.Args, opt.NoPaths)
		}
		var columns length
		err := v.pathless.encode(&columns, d)
		if err != nil {
			return err
		}
		if blocks, err = detailBlocks(c, d.Run, chunker{room: maxSize - int(columns), pathless: v.pathless}); err != nil {
			return err
		}
		v.fill(c)
	}
	if opt.Title != "" {
		v.title = opt.Title + " · dumptool"
	}
	out := bufio.NewWriter(w)
	v.write(out)
	beginBlock(out, "data")
	if err := v.pathless.encode(out, d); err != nil {
		return err
	}
	endBlock(out)
	for _, b := range blocks {
		writeBlock(out, b)
	}
	out.WriteString("<script>")
	out.Write(assets().script)
	out.WriteString("</script>\n</body>\n</html>\n")
	return out.Flush()
}

// titleOf makes a title from the compared folders.
func titleOf(args []string, noPaths bool) string {
	side := func(flag string) string {
		for _, a := range args {
			if path, ok := strings.CutPrefix(a, flag); ok {
				return path
			}
		}
		return ""
	}
	cpu, npu := side("--cpu="), side("--npu=")
	if cpu == "" || npu == "" {
		return ""
	}
	a, b := toldApart(cpu, npu)
	if noPaths && store.Base(cpu) == store.Base(npu) {
		a, b = store.Base(cpu)+" (CPU)", store.Base(npu)+" (NPU)"
	}
	return a + " · " + b
}

// toldApart returns the shortest suffixes of two paths, in whole parts, that differ.
func toldApart(a, b string) (string, string) {
	parts := func(path string) []string { return strings.Split(strings.ReplaceAll(store.Clean(path), `\`, "/"), "/") }
	x, y := parts(a), parts(b)
	most := max(len(x), len(y))
	for n := 1; ; n++ {
		a, b := strings.Join(x[max(0, len(x)-n):], "/"), strings.Join(y[max(0, len(y)-n):], "/")
		if a != b || n >= most {
			return a, b
		}
	}
}

// block is an element with data.
type block struct {
	id     string
	json   []byte
	closed bool
}

func writeBlock(out *bufio.Writer, b block) {
	beginBlock(out, b.id)
	out.Write(b.json)
	endBlock(out)
}

func beginBlock(out *bufio.Writer, id string) {
	out.WriteString(`<script type="application/json" id="` + id + `">`)
}

func endBlock(out *bufio.Writer) { out.WriteString("</script>\n") }

// length counts written bytes.
type length int

// Write implements io.Writer.
func (n *length) Write(text []byte) (int, error) {
	*n += length(len(text))
	return len(text), nil
}

// chunkSize is the size in bytes from which a block is full.
const chunkSize = 32 << 10

// chunker collects the data of rows in blocks of several rows, so that a page has few elements.
type chunker struct {
	*pathless
	blocks []block
	room   int // bytes left
}

// frameSize is the largest overhead of a row's data in bytes.
const frameSize = 80

// add adds the data of a row, unless there is no room, and returns its block, or -1.
func (c *chunker) add(row int, text []byte) int {
	if c.room < len(text)+frameSize {
		return -1
	}
	c.room -= len(text) + frameSize
	if n := len(c.blocks); n == 0 || c.blocks[n-1].closed || len(c.blocks[n-1].json) > chunkSize {
		c.close()
		c.blocks = append(c.blocks, block{id: "d" + strconv.Itoa(len(c.blocks)), json: []byte("{")})
	}
	b := &c.blocks[len(c.blocks)-1]
	if len(b.json) > 1 {
		b.json = append(b.json, ',')
	}
	b.json = append(append(strconv.AppendQuote(b.json, strconv.Itoa(row)), ':'), text...)
	return len(c.blocks) - 1
}

// close ends the last block, if it is open.
func (c *chunker) close() {
	if n := len(c.blocks); n > 0 && !c.blocks[n-1].closed {
		c.blocks[n-1].json, c.blocks[n-1].closed = append(c.blocks[n-1].json, '}'), true
	}
}

// detailBlocks makes the details of the rows that did not pass, and their pictures, as long as
// there is room: pictures are omitted first.
func detailBlocks(c *Comparison, d *run, chunks chunker) ([]block, error) {
	rows := detailed(c.Report)
	d.Cols.Chunk, d.Cols.Picture = slices.Repeat([]int{-1}, c.Len()), slices.Repeat([]int{-1}, c.Len())
	for n, i := range rows {
		text, err := chunks.marshal(detailOf(c.Row(i), c.Files[i]))
		if err != nil {
			return nil, err
		}
		if d.Cols.Chunk[i] = chunks.add(i, text); d.Cols.Chunk[i] < 0 {
			d.NoDetail = len(rows) - n
			break
		}
	}
	chunks.close()
	full := false
	for _, i := range rows {
		if c.Row(i).Pictures == nil {
			continue
		}
		d.Drawn++
		if !full {
			text, err := chunks.marshal(picturesOf(c.Row(i).Pictures))
			if err != nil {
				return nil, err
			}
			d.Cols.Picture[i] = chunks.add(i, text)
			full = d.Cols.Picture[i] < 0
		}
		if full {
			d.NoPicture++
		}
	}
	chunks.close()
	return chunks.blocks, nil
}

//go:embed page.html page.css js
var files embed.FS

// scripts lists the parts of the script in order.
var scripts = []string{words, "data", "dom", "matrix", "strip", "ribbon", "tree", "table", "charts", "window", "near", "panel", "before", "ranks", "tabs", "verdict", "main"}

// words is the script with the words of the page in English.
const words = "words.en"

// writeChinese writes the words of the page in Chinese. The catalogue has them by their
// English, and page.KEY¦ENGLISH where another text has the same English.
func writeChinese(to *bytes.Buffer, english string) {
	to.WriteString("WORDS.zh = {\n")
	for line := range strings.Lines(english) {
		key, text, ok := strings.Cut(line, `: "`)
		end := strings.LastIndexByte(text, '"')
		if !ok || end < 0 || !strings.HasPrefix(key, "  ") {
			continue
		}
		chinese, ok := lang.Lookup("page." + strings.TrimSpace(key) + "¦" + text[:end])
		if !ok {
			chinese = lang.Chinese(text[:end])
		}
		to.WriteString(key + `: "` + chinese + text[end:])
	}
	to.WriteString("};\n")
}

// made holds the assets of a page: the frame is a text with placeholders.
type made struct {
	frame, style, policy string
	script               []byte
}

// assets joins the parts of the page, once.
var assets = sync.OnceValue(func() made {
	read := func(name string) []byte {
		text, err := files.ReadFile(name)
		if err != nil {
			panic(err) // the list names a file that is not embedded
		}
		return text
	}
	m := made{frame: string(read("page.html")), style: string(read("page.css"))}
	var script bytes.Buffer
	script.WriteString("(function () {\n\"use strict\";\nvar CODES = ")
	script.Write(codes())
	script.WriteString(";\n")
	for _, name := range scripts {
		script.Write(read("js/" + name + ".js"))
		if name == words {
			writeChinese(&script, string(read("js/"+name+".js")))
		}
	}
	script.WriteString("})();\n")
	m.script = script.Bytes()
	m.policy = "default-src 'none'; script-src " + hash(m.script) + "; style-src " + hash([]byte(m.style)) + "; img-src data:; base-uri 'none'; form-action 'none'"
	return m
})

// codes returns the meanings of rows' codes as a JSON object.
func codes() []byte {
	words := map[finding.Code]lang.Text{}
	for _, c := range finding.Causes() {
		words[c.Code] = c.Words
	}
	text, err := json.Marshal(words)
	if err != nil {
		panic(err) // texts can always be marshalled
	}
	return text
}

// hash returns the source of a script or style for a Content-Security-Policy.
func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// view is the part of the page without a script: the verdict, the first bad row and some rows
// behind it. It does not use html/template, which would keep the linker from removing unused
// functions: 6 MB of the program.
type view struct {
	*pathless
	chinese         bool
	title, headline string
	name, reason    string
	rows            []viewRow
}

// viewRow is a row of the table without a script.
type viewRow struct {
	index  int
	status record.Status
	name   string
	errors string
	code   finding.Code
}

// shownRows is the number of rows in a view.
const shownRows = 10

// fill sets the verdict, the first bad row and the rows behind it; without a first bad row, all bad
// rows.
func (v *view) fill(c *Comparison) {
	r := c.Report
	v.headline = v.say(c.Headline)
	v.title = v.headline
	first := r.Findings.FirstBad
	if first >= 0 && first < r.Len() {
		v.name = c.Labels[first]
		if reasons := r.Row(first).Reasons; len(reasons) > 0 {
			v.reason = string(reasons[0].Code) + ": " + v.say(reasons[0].Evidence.Text())
		}
	}
	for i, row := range r.All() {
		if i < first || first < 0 && !row.Status.Bad() && row.Status != record.Error {
			continue
		}
		if len(v.rows) == shownRows {
			break
		}
		x := viewRow{index: i, status: row.Status, name: c.Labels[i], code: row.FirstCode()}
		if result := row.Result; result != nil {
			x.errors = fmt.Sprintf("%d/%d", row.Errors, result.Total)
		}
		v.rows = append(v.rows, x)
	}
}

func (v *view) say(t lang.Text) string {
	if v.chinese {
		return v.text(t.Chinese())
	}
	return v.text(t.String())
}

// write writes the page up to its data.
func (v *view) write(out *bufio.Writer) {
	language := "en"
	if v.chinese {
		language = "zh-CN"
	}
	out.WriteString(strings.NewReplacer("{{lang}}", language, "{{policy}}", escaped(assets().policy), "{{title}}", escaped(v.title), "{{style}}", assets().style,
		"{{noscript}}", v.noscript()).Replace(assets().frame))
}

// noscript returns the replacement of the script.
func (v *view) noscript() string {
	var b strings.Builder
	if v.headline != "" {
		b.WriteString("<h1>" + escaped(v.headline) + "</h1>\n")
	}
	if v.name != "" {
		b.WriteString("<p>" + v.say(lang.Text{EN: "First bad: "}) + "<b><bdi>" + escaped(v.name) + "</bdi></b></p>\n")
	}
	if v.reason != "" {
		b.WriteString("<p>" + escaped(v.reason) + "</p>\n")
	}
	if len(v.rows) > 0 {
		b.WriteString("<table class=\"t\">\n")
	}
	for i := range v.rows {
		row := &v.rows[i]
		fmt.Fprintf(&b, "<tr><td>%d</td><td class=\"l\">%s</td><td class=\"l\"><bdi>%s</bdi></td><td>%s</td><td class=\"l\">%s</td></tr>\n",
			row.index, escaped(string(row.status)), escaped(row.name), row.errors, escaped(string(row.code)))
	}
	if len(v.rows) > 0 {
		b.WriteString("</table>\n")
	}
	b.WriteString("<p>" + v.say(lang.Text{EN: "The pictures and the whole table need JavaScript."}) + "</p>\n")
	return b.String()
}

// escaped escapes text for HTML and its attributes, including invisible characters.
func escaped(text string) string { return html.EscapeString(ui.Escape(text)) }
