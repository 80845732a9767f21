package config

import (
	"errors"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	schema := Schema{
		Flags: []string{"quiet", "log-format"},
		Commands: map[string]Schema{
			"convert": {Flags: []string{"out", "jobs", "shape", "atol", "day", "moment", "empty"}},
			"overflow": {Commands: map[string]Schema{
				"analyze": {Flags: []string{"cpu-dir"}},
			}},
		},
	}
	tests := map[string]struct{ yaml, want, suggestion string }{
		"all known":      {sample, "", ""},
		"empty":          {"", "", ""},
		"typing error":   {"convert: {jbos: 4}", "convert.jbos: unknown setting", "convert.jobs"},
		"nested":         {"overflow: {analyze: {cpudir: x}}", "overflow.analyze.cpudir: unknown setting", "overflow.analyze.cpu-dir"},
		"command":        {"convrt: {jobs: 4}", "convrt: unknown setting", "convert"},
		"nothing near":   {"convert: {temperature: 4}", "convert.temperature: unknown setting", ""},
		"global inside":  {"convert: {quiet: true}", "convert.quiet: unknown setting", ""},
		"dotted":         {"convert.jobs: 4", "convert.jobs: unknown setting", ""},
		"first by name":  {"zzzzzzz: 1\naaaaaaa: 2", "aaaaaaa: unknown setting", ""},
		"group as value": {"quiet: {a: 1}", "quiet: must be a value, not a group of settings", ""},
		"value as group": {"convert: 4", "convert: must be the settings of the command, not a value", ""},
		"list of groups": {"convert: {shape: [{a: 1}]}", "convert.shape: the elements of a list must be values", ""},
		"list of lists":  {"convert: {shape: [1, [2]]}", "convert.shape: the elements of a list must be values", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, path := load(t, tt.yaml)
			err := s.Check(func() Schema { return schema })
			if tt.want == "" {
				if err != nil {
					t.Errorf("Check = %v", err)
				}
				return
			}
			if err == nil || withoutPlace(err.Error(), path) != path+": "+tt.want {
				t.Fatalf("Check = %v, want %q", err, tt.want)
			}
			var unknown *UnknownError
			if isUnknown := errors.As(err, &unknown); isUnknown != strings.Contains(tt.want, "unknown") {
				t.Errorf("%v is an UnknownError: %v", err, isUnknown)
			} else if isUnknown && unknown.Suggestion != tt.suggestion {
				t.Errorf("Suggestion = %q, want %q", unknown.Suggestion, tt.suggestion)
			}
		})
	}
}
