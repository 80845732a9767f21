package dumpconf

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

const maxPath = 512 // bytes

// aclPathRules check dump_path.
func aclPathRules() []rule {
	return []rule{
		{"ACL020", Error, "EP0001", stagePath, "dump_path is missing or empty outside exception scenes",
			"dump_path is required%s",
			func(c *check, r *reporter) {
				a := c.acl
				switch p := a.DumpPath; {
				case a.Exception() || !a.Dump.Present() || len(a.Dump.Node.Members) == 0:
				case !p.Present():
					r.at(a.Dump.keySpot(), ": name an existing folder")
				case p.OK && p.Value == "":
					r.at(p.valueSpot(), " and must not be empty: name an existing folder")
				}
			}},
		{"ACL021", Error, "EP0003", stagePath, "dump_path is too long",
			"dump_path has %d bytes; at most %d are allowed",
			func(c *check, r *reporter) {
				if n := len(c.acl.DumpPath.Value); n > maxPath {
					r.at(c.acl.DumpPath.valueSpot(), n, maxPath)
				}
			}},
		{"ACL022", Warning, "EP0003", stageLint, "dump_path contains a variable, which is not expanded",
			"%s in dump_path is not expanded; write the full path",
			func(c *check, r *reporter) {
				p := c.acl.DumpPath
				if isRemote(p.Value) {
					return
				}
				if at := placeholder.FindStringIndex(p.Value); at != nil {
					r.at(part(p, at[0], at[1]-at[0]), show(p.Value[at[0]:at[1]]))
				}
			}},
		{"ACL027", Warning, "", stageLint, "dump_path has blanks at its ends",
			"dump_path %s has blanks around it, which are taken as part of the name",
			func(c *check, r *reporter) {
				if p := c.acl.DumpPath; strings.TrimSpace(p.Value) != p.Value {
					r.at(p.valueSpot(), show(p.Value)).Suggestion = strings.TrimSpace(p.Value)
				}
			}},
		{"ACL023", Error, "EP0003", stagePath, "dump_path is not a folder that can be read and written",
			"dump_path %s %s",
			func(c *check, r *reporter) {
				if p := c.acl.DumpPath; isLocal(p.Value) && remoteFault(p.Value) == "" && len(p.Value) <= maxPath {
					r.folder(p, c.opt)
				}
			}},
		{"ACL024", Warning, "", stageLint, "dump_path is relative",
			"dump_path %s is taken from the working directory of the program; prefer an absolute path",
			func(c *check, r *reporter) {
				p := c.acl.DumpPath
				if isLocal(p.Value) && !strings.HasPrefix(p.Value, "/") && remoteFault(p.Value) == "" && !placeholder.MatchString(p.Value) {
					r.at(p.valueSpot(), show(p.Value))
				}
			}},
		{"ACL025", Error, "EP0003", stagePath, "dump_path has a colon but is no proper IPv4:path",
			"dump_path %s: the remote form is IPv4:path, but %s",
			func(c *check, r *reporter) {
				if p := c.acl.DumpPath; remoteFault(p.Value) != "" {
					r.at(p.valueSpot(), show(p.Value), remoteFault(p.Value))
				}
			}},
		{"ACL026", Warning, "", stageLint, "an environment variable overrides dump_path",
			"the environment variable %s overrides dump_path for exception dumps",
			func(c *check, r *reporter) {
				if !c.acl.Exception() || !c.acl.DumpPath.Present() {
					return
				}
				for _, name := range []string{"ASCEND_DUMP_PATH", "NPU_COLLECT_PATH", "ASCEND_WORK_PATH"} {
					if value, ok := c.opt.env(name); ok {
						r.at(c.acl.DumpPath.keySpot(), name+"="+shorten(value))
					}
				}
			}},
	}
}

// placeholder matches what people expect to be expanded.
var placeholder = regexp.MustCompile(`\$\{[^}]*\}?|\$[A-Za-z_0-9]*|~|%[A-Za-z_][A-Za-z_0-9]*%|\{[^}]*\}`)

// folder reports a path that is no usable folder.
func (r *reporter) folder(p Setting[string], opt *Options) {
	if opt.Stat == nil {
		return
	}
	reason := ""
	switch opt.Stat(p.Value) {
	case PathMissing:
		reason = "does not exist; create it first, it is not created for you"
	case PathNotDir:
		reason = "is not a folder"
	case PathNoAccess:
		reason = "may not be read and written by this user"
	default:
		return
	}
	r.at(p.valueSpot(), show(p.Value), reason)
}

// remoteText is what the part behind the colon may consist of.
const remoteText = `-=[];\,./!@#$%^&*()_+{}:?`

// isRemote reports whether a path is a correct IPv4:path.
func isRemote(path string) bool {
	ip, _, colon := strings.Cut(path, ":")
	return colon && isIPv4(ip) && remoteFault(path) == ""
}

// isLocal reports whether a path is meant for this host.
func isLocal(path string) bool { return path != "" && !isRemote(path) }

// remoteFault says what is wrong with a path that looks like IPv4:path. It
// returns nothing for paths without a colon, for those with a slash before
// it, which are local, and for correct ones.
func remoteFault(path string) string {
	ip, tail, colon := strings.Cut(path, ":")
	switch {
	case !colon || strings.Contains(ip, "/"):
		return ""
	case ip == "":
		return "the address is missing"
	case !isIPv4(ip):
		return fmt.Sprintf("%s is no IPv4 address", show(ip))
	case tail == "":
		return "the path is missing"
	}
	for i, r := range tail {
		if (r|0x20 < 'a' || r|0x20 > 'z') && (r < '0' || r > '9') && !strings.ContainsRune(remoteText, r) {
			_, size := utf8.DecodeRuneInString(tail[i:])
			return fmt.Sprintf("%q is not allowed in the path", tail[i:i+size])
		}
	}
	return ""
}

// isIPv4 reports whether text is four numbers from 0 to 255.
func isIPv4(text string) bool {
	parts := strings.SplitN(text, ".", 5)
	for _, p := range parts {
		if !isDigits(p) || len(p) > 3 || len(p) == 3 && p > "255" {
			return false
		}
	}
	return len(parts) == 4
}
