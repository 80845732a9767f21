package main

import (
	"bytes"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"dumptool/internal/dumpconf"
	"dumptool/internal/report"
)

// configPrinter prints what was found in configurations, file by file.
type configPrinter struct {
	*app
	opts   *configCheckOptions
	text   report.ConfigText
	sarif  report.ConfigSARIF
	folder string // the working folder
	broken error  // of stdout

	last          string // name of the last file
	files, failed int
	bad           int                     // files with errors or warnings
	counts        [dumpconf.Error + 1]int // findings by severity
	fixable       int                     // findings
	lastSchema    dumpconf.Schema         // of the last file
}

func newConfigPrinter(a *app, opts *configCheckOptions) *configPrinter {
	p := &configPrinter{app: a, opts: opts, text: report.ConfigText{Width: a.streams.OutWidth}}
	p.sarif.Version = strings.TrimPrefix(toolName(), "dumptool ")
	// Without it absolute names stay as they are.
	p.folder, _ = os.Getwd()
	return p
}

// fail reports a file that could not be read or written.
func (p *configPrinter) fail(message string) {
	p.failed++
	p.sarif.Fail(message)
	p.msg.Errorf("%s", message)
}

// findings prints the findings in a file.
func (p *configPrinter) findings(name string, r *dumpconf.Report) {
	p.count(name, r)
	switch p.opts.format {
	case "json":
		p.print(append(report.AppendConfigJSON(nil, name, r), '\n'))
	case "sarif":
		p.sarif.Add(p.uri(name), r)
	default:
		p.print(p.text.Append(nil, configName(name), r))
	}
	if r.More {
		p.msg.Warnf("%s: there is more to find, once this is repaired", configName(name))
	}
}

// fix repairs a file, or prints how.
func (p *configPrinter) fix(name string, src []byte, opt dumpconf.Options) {
	before := dumpconf.Check(name, src, opt)
	fixed, after := dumpconf.Repair(name, src, opt)
	changed := !bytes.Equal(fixed, src)
	if !p.opts.write {
		p.count(name, before)
		p.change(name, src, fixed)
		p.aboutChange(name, before, after, changed)
		return
	}
	if changed {
		if err := rewriteConfig(name, fixed); err != nil {
			p.fail(withPath(name, err))
			p.findings(name, before) // the file is as it was
			return
		}
	}
	p.findings(name, after)
	p.aboutWrite(name, before, after, changed)
}

// change prints the difference that a repair makes.
func (p *configPrinter) change(name string, src, fixed []byte) {
	switch {
	case bytes.Equal(src, fixed):
	case bytes.IndexByte(src, 0) >= 0:
		p.msg.Warnf("%s is no UTF-8: its change cannot be shown, --write makes it", configName(name))
	case name == stdinArg:
		p.print(report.ConfigDiff("stdin", src, fixed))
	default:
		p.print(report.ConfigDiff(p.diffName(name), src, fixed))
	}
}

// diffName names a file so that 'patch -p1' finds it: from the working folder
// where it is below that, else by its last part.
func (p *configPrinter) diffName(name string) string {
	if filepath.IsAbs(name) {
		if inside, err := filepath.Rel(p.folder, name); err == nil {
			name = inside
		}
	}
	if name = filepath.Clean(name); !filepath.IsLocal(name) {
		name = filepath.Base(name)
	}
	return filepath.ToSlash(name)
}

// aboutChange says what a repair would leave.
func (p *configPrinter) aboutChange(name string, before, after *dumpconf.Report, changed bool) {
	switch {
	case changed:
		p.msg.Infof("%s: findings now %s, after this change %s", configName(name), howMany(before), howMany(after))
	case len(before.Findings) > 0:
		p.msg.Infof("%s: nothing can be repaired without a decision of yours", configName(name))
	}
}

// aboutWrite says what a repair left.
func (p *configPrinter) aboutWrite(name string, before, after *dumpconf.Report, changed bool) {
	left := after.Count(dumpconf.Error)
	switch {
	case changed && left == 0:
		p.msg.Infof("%s is repaired: findings before %s, left %s", name, howMany(before), howMany(after))
	case changed:
		p.msg.Infof("%s is changed, but not repaired: findings before %s, left %s, of them %s",
			name, howMany(before), howMany(after), counted(left, "error"))
	case len(before.Findings) > 0:
		p.msg.Infof("%s is not changed: nothing can be repaired without a decision of yours", name)
	}
}

// howMany counts the findings of a report, as far as it lists them.
func howMany(r *dumpconf.Report) string {
	switch n := len(r.Findings); {
	case n == 0:
		return "none"
	case r.More:
		return fmt.Sprintf("more than %d", n)
	default:
		return fmt.Sprint(n)
	}
}

func (p *configPrinter) print(text []byte) {
	if err := p.show(text); err != nil && p.broken == nil {
		p.broken = err
	}
}

// count notes what was found in a file.
func (p *configPrinter) count(name string, r *dumpconf.Report) {
	p.files++
	p.last, p.lastSchema = configName(name), r.Schema
	for i := range r.Findings {
		f := &r.Findings[i]
		p.counts[f.Severity]++
		if len(f.Edits) > 0 {
			p.fixable++
		}
	}
	if r.Count(dumpconf.Error)+r.Count(dumpconf.Warning) > 0 {
		p.bad++
	}
}

// conclude prints what is left to print and returns the error of the run.
func (p *configPrinter) conclude() error {
	if p.opts.format == "sarif" {
		p.print(append(p.sarif.JSON(), '\n'))
	}
	if p.broken != nil {
		return p.broken
	}
	if p.files > 0 {
		p.msg.Infof("%s", p.summary())
	}
	if p.fixable > 0 && !p.opts.fix {
		p.msg.Hintf("--fix shows how to repair %d of these, --fix --write does it", p.fixable)
	}
	switch {
	case p.failed > 0:
		return reported(incompletef("%s could not be read or written", counted(p.failed, "file")))
	case p.counts[dumpconf.Error] > 0:
		return reported(foundf("errors found"))
	case p.opts.strict && p.counts[dumpconf.Warning] > 0:
		return reported(foundf("warnings found"))
	}
	return nil
}

// summary counts the findings.
func (p *configPrinter) summary() string {
	var parts []string
	for _, c := range []struct {
		severity dumpconf.Severity
		noun     string
	}{{dumpconf.Error, "error"}, {dumpconf.Warning, "warning"}, {dumpconf.Info, "hint"}} {
		if n := p.counts[c.severity]; n > 0 {
			parts = append(parts, counted(n, c.noun))
		}
	}
	found := strings.Join(parts, ", ")
	switch {
	case p.files > 1 && found == "":
		return fmt.Sprintf("nothing found in %d files", p.files)
	case p.files > 1:
		return fmt.Sprintf("%s in %d of %d files", found, p.bad, p.files)
	case found == "":
		return fmt.Sprintf("nothing found in %s (checked as %s)", p.last, p.lastSchema)
	}
	return fmt.Sprintf("%s in %s", found, p.last)
}

// uri names a file as seen from the working folder.
func (p *configPrinter) uri(name string) string {
	if name == stdinArg {
		return "stdin"
	}
	path := filepath.Clean(name)
	if filepath.IsAbs(path) {
		inside, err := filepath.Rel(p.folder, path)
		if err != nil || inside == ".." || strings.HasPrefix(inside, "../") {
			return (&url.URL{Scheme: "file", Path: path}).String()
		}
		path = inside
	}
	return (&url.URL{Path: filepath.ToSlash(path)}).String()
}
