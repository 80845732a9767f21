package report

import (
	"strings"
	"testing"

	"dumptool/internal/dumpconf"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
)

// configPlace returns the n-th place of part in text, counted from 1.
func configPlace(t *testing.T, text, part string, n int) dumpconf.Place {
	t.Helper()
	offset := 0
	for i := range n {
		if i > 0 {
			offset += len(part)
		}
		at := strings.Index(text[offset:], part)
		if at < 0 {
			t.Fatalf("%q is not %d times in %q", part, n, text)
		}
		offset += at
	}
	before := text[:offset]
	line := strings.Count(before, "\n")
	start := strings.LastIndexByte(before, '\n') + 1
	return dumpconf.Place{Line: line + 1, Column: len([]rune(before[start:])) + 1, Offset: offset, Length: len(part)}
}

const sampleConfig = "{\"dump\": {\n\t\"dump_step\": 5,\n\t\"路径\": \"/模型\",\n\t\"dump_step\": \"0||1\"\n}}\n"

// sampleReport is a report with a finding of every sort.
func sampleReport(t *testing.T) *dumpconf.Report {
	t.Helper()
	return &dumpconf.Report{
		Name: "a.json", Schema: dumpconf.SchemaACL, Doc: jsonpos.Parse([]byte(sampleConfig)),
		Findings: []dumpconf.Finding{
			{
				Rule: "ACL010", Severity: dumpconf.Error, Code: "EP0001", Path: "dump.dump_step",
				Place: configPlace(t, sampleConfig, "5", 1), Message: lang.Plain("must be a string"), Suggestion: `"5"`,
			},
			{
				Rule: "ACL006", Severity: dumpconf.Warning, Path: "dump.路径",
				Place: configPlace(t, sampleConfig, `"路径"`, 1), Message: lang.Plain("unknown key \x1b[2J"),
			},
			{
				Rule: "ACL008", Severity: dumpconf.Info, Path: "dump.dump_step", Ignored: lang.Plain("no step <counts>"),
				Place: configPlace(t, sampleConfig, `"dump_step"`, 2), Message: lang.Plain("given twice"),
				Related: []dumpconf.Related{{Place: configPlace(t, sampleConfig, `"dump_step"`, 1), Message: lang.Plain("first here")}},
			},
		},
	}
}
