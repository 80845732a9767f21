package report

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dumptool/internal/dumpconf"
)

// checkJSON returns the line of a checked file.
func checkJSON(t *testing.T, name string, r *dumpconf.Report) string {
	t.Helper()
	checks := &ConfigChecks{Checks: dumpconf.Checks{Files: []dumpconf.FileCheck{{Name: name, Before: r}}}}
	return strings.TrimSuffix(rendered(t, func(w io.Writer) error { return WriteConfigChecksJSON(w, checks) }), "\n")
}

func TestConfigJSON(t *testing.T) {
	t.Parallel()
	const want = `{"file":"a \"b\".json","schema":"acl","findings":[` +
		`{"rule":"ACL010","severity":"error","path":"dump.dump_step","line":2,"column":15,"message":"must be a string","code":"EP0001","suggestion":"\"5\""},` +
		`{"rule":"ACL006","severity":"warning","path":"dump.路径","line":3,"column":2,"message":"unknown key \u001b[2J","code":""},` +
		`{"rule":"ACL008","severity":"info","path":"dump.dump_step","line":4,"column":2,"message":"given twice","code":"","ignored":"no step <counts>",` +
		`"related":[{"line":2,"column":2,"message":"first here"}]}]}`
	if diff := cmp.Diff(want, checkJSON(t, `a "b".json`, sampleReport(t))); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestConfigJSONWithoutFindings(t *testing.T) {
	t.Parallel()
	r := sampleReport(t)
	r.Findings, r.Schema = nil, dumpconf.SchemaMindSpore
	const want = `{"file":"-","schema":"mindspore","findings":[]}`
	if got := checkJSON(t, "-", r); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
