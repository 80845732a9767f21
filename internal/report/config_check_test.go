package report

import "testing"

func TestConfigURI(t *testing.T) {
	t.Parallel()
	c := &ConfigChecks{Folder: "/data/src"}
	tests := map[string]string{
		"acl.json":                "acl.json",
		"./conf/../acl.json":      "acl.json",
		"a b%#?.json":             "a%20b%25%23%3F.json",
		"模型.json":                 "%E6%A8%A1%E5%9E%8B.json",
		"a:b.json":                "./a:b.json",
		"../acl.json":             "../acl.json",
		"/data/src/conf/acl.json": "conf/acl.json",
		"/data/source/acl.json":   "file:///data/source/acl.json",
		"-":                       "stdin",
	}
	for name, want := range tests {
		if got := c.uri(name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}
