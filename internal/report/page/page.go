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
	"cmp"
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

	"dumptool/internal/compare/metrics"
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
	rows *pageRows
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
	Documents
}

// maxSize is the size of a page's data in bytes, kept by omitting details of rows. It leaves room
// for the script and the style.
const maxSize = 3_700_000

// Write writes a page. The comparison may be nil.
func Write(w io.Writer, c *Comparison, opt Options) error {
	d := data{V: version, Title: opt.Title, Lang: opt.Lang}
	if err := d.read(opt.Documents); err != nil {
		return err
	}
	if c != nil {
		shown := *c
		c, shown.rows = &shown, rowsOf(c.Report)
	}
	v := view{chinese: opt.Lang == "zh", title: "dumptool"}
	if opt.NoPaths {
		v.pathRemover = newPathless(pathsOf(c, &d))
	}
	var runs []rowData
	if c != nil {
		d.Run = dataOf(c)
		runs = append(runs, rowData{d.Run, rowsWithDetail(c.Report), func(i int) *detail { return detailOf(c.Row(i), c.Files[i]) }, func(i int) *metrics.Pictures { return c.Row(i).Pictures }})
		if c.Before != nil {
			d.Before = sideOf(c, opt.NoPaths)
		}
		d.Title = cmp.Or(d.Title, titleOf(c.Args, opt.NoPaths))
	}
	if d.checked != nil {
		d.Check = checkOf(d.checked)
		runs = append(runs, checkRows(d.Check, d.checked))
		d.Title = cmp.Or(d.Title, checkTitle(d.checked.Paths))
	}
	chunks := chunker{room: maxSize, pathRemover: v.pathRemover}
	if len(runs) > 0 {
		var columns length
		if err := v.pathRemover.encode(&columns, d); err != nil {
			return err
		}
		chunks.room -= int(columns)
		v.setVerdict(&runs[0])
	}
	for i := range runs {
		if err := chunks.addRows(&runs[i]); err != nil {
			return err
		}
	}
	if opt.Title != "" {
		v.title = opt.Title + " · dumptool"
	}
	out := bufio.NewWriter(w)
	v.write(out)
	beginBlock(out, "data")
	if err := v.pathRemover.encode(out, d); err != nil {
		return err
	}
	endBlock(out)
	for _, b := range chunks.blocks {
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
	a, b := distinctSuffixes(cpu, npu)
	if noPaths && store.Base(cpu) == store.Base(npu) {
		a, b = store.Base(cpu)+" (CPU)", store.Base(npu)+" (NPU)"
	}
	return a + " · " + b
}

// distinctSuffixes returns the shortest suffixes of two paths, in whole parts, that differ.
func distinctSuffixes(a, b string) (string, string) {
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
	*pathRemover
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

// rowData is a run with functions that make the details and the pictures of its rows. order lists the
// rows with details, most important first.
type rowData struct {
	*runPage
	order    []int
	detail   func(row int) *detail
	pictures func(row int) *metrics.Pictures // nil for none
}

// addRows adds the details of rows, and their pictures, as long as there is room: pictures are
// omitted first.
func (c *chunker) addRows(d *rowData) error {
	n := len(d.Cols.Name)
	d.Cols.Chunk, d.Cols.Picture = slices.Repeat([]int{-1}, n), slices.Repeat([]int{-1}, n)
	for k, i := range d.order {
		text, err := c.marshal(d.detail(i))
		if err != nil {
			return err
		}
		if d.Cols.Chunk[i] = c.add(i, text); d.Cols.Chunk[i] < 0 {
			d.NoDetail = len(d.order) - k
			break
		}
	}
	c.close()
	full := false
	for _, i := range d.order {
		p := d.pictures(i)
		if p == nil {
			continue
		}
		d.Drawn++
		if !full {
			text, err := c.marshal(picturesOf(p))
			if err != nil {
				return err
			}
			d.Cols.Picture[i] = c.add(i, text)
			full = d.Cols.Picture[i] < 0
		}
		if full {
			d.NoPicture++
		}
	}
	c.close()
	return nil
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

// pageAssets holds the assets of a page: the frame is a text with placeholders.
type pageAssets struct {
	frame, style, policy string
	script               []byte
}

// assets joins the parts of the page, once.
var assets = sync.OnceValue(func() pageAssets {
	read := func(name string) []byte {
		text, err := files.ReadFile(name)
		if err != nil {
			panic(err) // the list names a file that is not embedded
		}
		return text
	}
	m := pageAssets{frame: string(read("page.html")), style: string(read("page.css"))}
	var script bytes.Buffer
	script.WriteString("(function () {\n\"use strict\";\nvar CODES = ")
	script.Write(codeMeanings())
	script.WriteString(";\n")
	for _, name := range scripts {
		script.Write(read("js/" + name + ".js"))
		if name == words {
			writeChinese(&script, string(read("js/"+name+".js")))
		}
	}
	script.WriteString("})();\n")
	m.script = script.Bytes()
	m.policy = "default-src 'none'; script-src " + sourceHash(m.script) + "; style-src " + sourceHash([]byte(m.style)) + "; img-src data:; base-uri 'none'; form-action 'none'"
	return m
})

// codeMeanings returns the meanings of rows' codes as a JSON object.
func codeMeanings() []byte {
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

// sourceHash returns the source of a script or style for a Content-Security-Policy.
func sourceHash(text []byte) string {
	sum := sha256.Sum256(text)
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// view is the part of the page without a script: the verdict, the first bad row and some rows
// behind it. It does not use html/template, which would keep the linker from removing unused
// functions: 6 MB of the program.
type view struct {
	*pathRemover
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

// setVerdict sets the verdict, the first bad row and the rows behind it; without a first bad row, all bad
// rows.
func (v *view) setVerdict(d *rowData) {
	v.headline = v.say(lang.Text(d.Headline))
	v.title = v.headline
	first, cols := d.Rounds[d.Round].Find.Bad, &d.Cols
	if first >= 0 {
		v.name = cols.Name[first]
		if reasons := d.detail(first).Reasons; len(reasons) > 0 {
			v.reason = string(reasons[0].Code) + ": " + v.say(lang.Text(reasons[0].Evidence))
		}
	}
	for i := max(0, first); i < len(cols.Name) && len(v.rows) < shownRows; i++ {
		if first < 0 && cols.Mark[i] < record.MarkFails {
			continue
		}
		x := viewRow{index: i, status: d.Statuses[max(0, cols.Status[i])], name: cols.Name[i]}
		if cols.Reason[i] >= 0 {
			x.code = d.Codes[cols.Reason[i]]
		}
		if cols.Total[i] >= 0 {
			x.errors = fmt.Sprintf("%d/%d", cols.Err[i], cols.Total[i])
		}
		v.rows = append(v.rows, x)
	}
}

func (v *view) say(t lang.Text) string {
	if v.chinese {
		return v.removeFolders(t.Chinese())
	}
	return v.removeFolders(t.String())
}

// write writes the page up to its data.
func (v *view) write(out *bufio.Writer) {
	language := "en"
	if v.chinese {
		language = "zh-CN"
	}
	out.WriteString(strings.NewReplacer("{{lang}}", language, "{{policy}}", escapeHTML(assets().policy), "{{title}}", escapeHTML(v.title), "{{style}}", assets().style,
		"{{noscript}}", v.noscript()).Replace(assets().frame))
}

// noscript returns the replacement of the script.
func (v *view) noscript() string {
	var b strings.Builder
	if v.headline != "" {
		b.WriteString("<h1>" + escapeHTML(v.headline) + "</h1>\n")
	}
	if v.name != "" {
		b.WriteString("<p>" + v.say(lang.Text{EN: "First bad: "}) + "<b><bdi>" + escapeHTML(v.name) + "</bdi></b></p>\n")
	}
	if v.reason != "" {
		b.WriteString("<p>" + escapeHTML(v.reason) + "</p>\n")
	}
	if len(v.rows) > 0 {
		b.WriteString("<table class=\"t\">\n")
	}
	for i := range v.rows {
		row := &v.rows[i]
		fmt.Fprintf(&b, "<tr><td>%d</td><td class=\"l\">%s</td><td class=\"l\"><bdi>%s</bdi></td><td>%s</td><td class=\"l\">%s</td></tr>\n",
			row.index, escapeHTML(string(row.status)), escapeHTML(row.name), row.errors, escapeHTML(string(row.code)))
	}
	if len(v.rows) > 0 {
		b.WriteString("</table>\n")
	}
	b.WriteString("<p>" + v.say(lang.Text{EN: "The pictures and the whole table need JavaScript."}) + "</p>\n")
	return b.String()
}

// escapeHTML escapes text for HTML and its attributes, including invisible characters.
func escapeHTML(text string) string { return html.EscapeString(ui.Escape(text)) }
