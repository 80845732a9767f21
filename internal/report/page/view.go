package page

import (
	"bufio"
	"fmt"
	"html"
	"strings"

	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
	"dumptool/internal/ui"
)

// view is what stands in the page without a script: the verdict, the first bad row and
// some rows behind it. It is put together by hand, since html/template would keep the
// linker from leaving out what nobody calls: 6 MB of the program.
type view struct {
	*pathless
	chinese         bool
	title, headline string
	name, reason    string
	rows            []viewRow
}

// viewRow is a row of the table that stands in for the script.
type viewRow struct {
	index  int
	status record.Status
	name   string
	errors string
	code   record.Code
}

// shownRows is the number of rows in a view.
const shownRows = 10

// fill fills in the verdict, the first bad row and what follows it, without one the bad
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
	for i := max(first, 0); i < r.Len() && len(v.rows) < shownRows; i++ {
		row := r.Row(i)
		if first < 0 && !row.Status.Bad() && row.Status != record.Error {
			continue
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
		return v.text(t.ZH)
	}
	return v.text(t.EN)
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

// noscript is what stands in for the script.
func (v *view) noscript() string {
	var b strings.Builder
	if v.headline != "" {
		b.WriteString("<h1>" + escaped(v.headline) + "</h1>\n")
	}
	if v.name != "" {
		b.WriteString("<p>" + v.say(lang.Text{EN: "First bad: ", ZH: "首个出错："}) + "<b><bdi>" + escaped(v.name) + "</bdi></b></p>\n")
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
	b.WriteString("<p>" + v.say(lang.Text{EN: "The pictures and the whole table need JavaScript.", ZH: "图和完整的表格需要 JavaScript。"}) + "</p>\n")
	return b.String()
}

// escaped is text for HTML and its attributes, without what has no visible form.
func escaped(text string) string { return html.EscapeString(ui.Escape(text)) }
