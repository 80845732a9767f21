// Package page writes report.html: one file with a comparison, overflow records and
// other results, to be looked at in a browser without a network. It draws what
// compare.json holds and opens no tensor.
//
// The page has its data in elements of the type application/json and one script that
// makes everything else of them. Nothing in it is loaded from elsewhere, and a
// Content-Security-Policy allows nothing but that script and that style.
package page

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
	"dumptool/internal/ui"
)

// Comparison is a comparison to be shown.
type Comparison struct {
	*record.Report
	// Headline is the verdict in a line.
	Headline lang.Text
	// Labels are the names of the rows.
	Labels []string
	// Files are, by row, the names of files beside the page that show more of it.
	Files map[int][]string
}

// Options say how a page looks, and what is in it beside the comparison.
type Options struct {
	// Lang is the language that the page begins with, en or zh; empty for that of the
	// browser.
	Lang string
	// Title is that of the page; empty for one from the paths that were compared.
	Title string
	// NoPaths keeps of all paths the last part only.
	NoPaths bool
	// Overflow and Determinism are the documents of these commands; nil for none.
	Overflow, Determinism json.RawMessage
}

// maxSize is the size that a page keeps to by leaving details of rows out, which
// leaves room for the script and the style.
const maxSize = 4_600_000

// Write writes a page. The comparison may be nil in a page of other results.
func Write(w io.Writer, c *Comparison, opt Options) error {
	d := data{V: version, Title: opt.Title, Lang: opt.Lang}
	if opt.Overflow != nil {
		d.Overflow = opt.Overflow
	}
	if opt.Determinism != nil {
		d.Determinism = opt.Determinism
	}
	v := view{chinese: opt.Lang == "zh", title: "dumptool"}
	var blocks []block
	if c != nil {
		d.Run = dataOf(c)
		columns, err := json.Marshal(d)
		if err != nil {
			return err
		}
		if blocks, err = detailBlocks(c, d.Run, maxSize-len(columns)); err != nil {
			return err
		}
		v.fill(c)
		if d.Title == "" {
			d.Title = titleOf(c.Args)
		}
	}
	if opt.Title != "" {
		v.title = ui.Escape(opt.Title) + " · dumptool"
	}
	head, err := json.Marshal(d)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	v.write(out)
	writeBlock(out, block{"data", head})
	for _, b := range blocks {
		writeBlock(out, b)
	}
	out.WriteString("<script>")
	out.Write(assets().script)
	out.WriteString("</script>\n</body>\n</html>\n")
	return out.Flush()
}

// titleOf is a title from the folders that were compared.
func titleOf(args []string) string {
	name := func(flag string) string {
		for _, a := range args {
			if path, ok := strings.CutPrefix(a, flag); ok {
				return filepath.Base(path)
			}
		}
		return ""
	}
	if cpu, npu := name("--cpu="), name("--npu="); cpu != "" && npu != "" {
		return cpu + " · " + npu
	}
	return ""
}

// block is an element with data.
type block struct {
	id   string
	json []byte
}

func writeBlock(out *bufio.Writer, b block) {
	out.WriteString(`<script type="application/json" id="` + b.id + `">`)
	out.Write(b.json)
	out.WriteString("</script>\n")
}

// chunkSize is the size from which the next details have a block of their own.
const chunkSize = 32 << 10

// detailBlocks makes the details of the rows that did not pass, as many as there is
// room for. A block holds those of some rows, so that a page has few elements.
func detailBlocks(c *Comparison, d *run, room int) ([]block, error) {
	const frame = 80 // what stands around the detail
	var blocks []block
	d.Cols.Chunk = slices.Repeat([]int{-1}, len(c.Rows))
	rows := detailed(c.Report)
	for k, i := range rows {
		text, err := json.Marshal(detailOf(c, i))
		if err != nil {
			return nil, err
		}
		if room -= len(text) + frame; room < 0 {
			d.NoDetail = len(rows) - k
			break
		}
		if len(blocks) == 0 || len(blocks[len(blocks)-1].json) > chunkSize {
			blocks = append(blocks, block{"d" + strconv.Itoa(len(blocks)), []byte("{")})
		}
		b := &blocks[len(blocks)-1]
		if len(b.json) > 1 {
			b.json = append(b.json, ',')
		}
		b.json = append(append(strconv.AppendQuote(b.json, strconv.Itoa(i)), ':'), text...)
		d.Cols.Chunk[i] = len(blocks) - 1
	}
	for k := range blocks {
		blocks[k].json = append(blocks[k].json, '}')
	}
	return blocks, nil
}

//go:embed page.html page.css js
var files embed.FS

// scripts are the parts of the script in their order.
var scripts = []string{"words.en", "words.zh", "data", "dom", "strip", "ribbon", "table", "charts", "panel", "tabs", "main"}

// made is what the page is made of: the frame is text around placeholders.
type made struct {
	frame, style, policy string
	script               []byte
}

// assets joins the parts of the page, once.
var assets = sync.OnceValue(func() made {
	read := func(name string) []byte {
		text, err := files.ReadFile(name)
		if err != nil {
			panic(err) // a list here names a file that is not embedded
		}
		return text
	}
	m := made{frame: string(read("page.html")), style: string(read("page.css"))}
	var script bytes.Buffer
	script.WriteString("(function () {\n\"use strict\";\n")
	for _, name := range scripts {
		script.Write(read("js/" + name + ".js"))
	}
	script.WriteString("})();\n")
	m.script = script.Bytes()
	m.policy = "default-src 'none'; script-src " + hash(m.script) + "; style-src " + hash([]byte(m.style)) + "; img-src data:; base-uri 'none'; form-action 'none'"
	return m
})

// hash is the source of a script or a style in a Content-Security-Policy.
func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
