package cluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// TestLines: each printed line of a shard has the shard's number, also in logs for programs.
func TestLines(t *testing.T) {
	t.Parallel()
	const printed = `{"time":"2026-01-02T03:04:05Z","level":"WARN","msg":"a","path":"x"}` + "\n\n" + `{"not": ` + "\nrow \"1\"\n{}\nlast"
	put := func(asJSON bool) string {
		var to bytes.Buffer
		l := &shardWriter{destination: &to, mu: new(sync.Mutex), shard: 3, json: asJSON}
		for _, part := range []string{printed[:20], printed[20:75], printed[75:]} {
			fmt.Fprint(l, part)
		}
		l.flush()
		return to.String()
	}
	if got, want := put(false), "shard 3: "+strings.ReplaceAll(printed, "\n", "\nshard 3: ")+"\n"; got != want {
		t.Errorf("text:\n%s, want\n%s", got, want)
	}
	type record struct {
		Shard            int
		Level, Msg, Path string
	}
	want := []record{{3, "WARN", "a", "x"}, {3, "INFO", `{"not": `, ""}, {3, "INFO", `row "1"`, ""}, {3, "INFO", "{}", ""}, {3, "INFO", "last", ""}}
	got := strings.SplitAfter(put(true), "\n")
	if len(got) != len(want)+1 {
		t.Fatalf("%d lines: %q", len(got)-1, got)
	}
	for i, w := range want {
		var r record
		if err := json.Unmarshal([]byte(got[i]), &r); err != nil || r != w {
			t.Errorf("%s: %v, want %+v", got[i], err, w)
		}
	}
}
