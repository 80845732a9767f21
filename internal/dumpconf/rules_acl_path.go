package dumpconf

import (
	"strings"
	"unicode/utf8"

	"dumptool/internal/lang"
)

const maxPath = 512 // bytes

// aclPathRules check dump_path.
var aclPathRules = []rule{
	{id: "ACL020", severity: Error, code: "EP0001", stage: stagePath, checks: "dump_path is missing or empty outside exception scenes",
		guess: true, message: Text{EN: "dump_path is required%s", ZH: "缺少必填的 dump_path%s"},
		acl: func(a *ACL, r *reporter) {
			need := Text{EN: ": name an existing folder", ZH: "：请填写已存在的目录"}
			if a.DumpPath.Present() {
				need = Text{EN: " and must not be empty: name an existing folder", ZH: "，不能为空：请填写已存在的目录"}
			}
			r.when(!a.Exception() && a.Dump.isFilled() && a.DumpPath.lacks(), a.DumpPath.spanIn(a.Dump), need)
		}},
	{id: "ACL021", severity: Error, code: "EP0003", stage: stagePath, checks: "dump_path is too long",
		message: Text{EN: "dump_path has %d bytes; at most %d are allowed", ZH: "dump_path 有 %d 字节，最多允许 %d 字节"},
		acl: func(a *ACL, r *reporter) {
			n := len(a.DumpPath.Value)
			r.when(n > maxPath, a.DumpPath.valueSpan(), n, maxPath)
		}},
	{id: "ACL022", severity: Warning, code: "EP0003", checks: "dump_path contains a variable, which is not expanded",
		message: Text{EN: "%s in dump_path is not expanded; write the full path", ZH: "dump_path 中的 %s 不会展开，请写完整路径"},
		acl: func(a *ACL, r *reporter) {
			p := a.DumpPath
			if at := placeholder().FindStringIndex(p.Value); at != nil && !isRemote(p.Value) {
				r.at(part(p, at[0], at[1]-at[0]), show(p.Value[at[0]:at[1]]))
			}
		}},
	{id: "ACL027", severity: Warning, checks: "dump_path has blanks at its ends",
		message: Text{EN: "dump_path %s has blanks around it, which are taken as part of the name", ZH: "dump_path %s 首尾有空格，空格会作为路径的一部分"},
		acl:     func(a *ACL, r *reporter) { r.blanks(a.DumpPath) }},
	{id: "ACL023", severity: Error, code: "EP0003", stage: stagePath, checks: "dump_path is not a folder that can be read and written",
		message: Text{EN: "dump_path %s %s", ZH: "dump_path %s %s"},
		acl: func(a *ACL, r *reporter) {
			if p := a.DumpPath; isLocal(p.Value) && remoteFault(p.Value).IsZero() && len(p.Value) <= maxPath && r.opt.Stat != nil {
				fault := folderFaults[r.opt.Stat(p.Value)]
				r.when(fault != Text{}, p.valueSpan(), show(p.Value), fault)
			}
		}},
	{id: "ACL024", severity: Warning, checks: "dump_path is relative",
		message: Text{EN: "dump_path %s is taken from the working directory of the program; prefer an absolute path", ZH: "dump_path %s 相对于程序的工作目录，建议使用绝对路径"},
		acl: func(a *ACL, r *reporter) {
			p := a.DumpPath
			r.when(isLocal(p.Value) && !strings.HasPrefix(p.Value, "/") && remoteFault(p.Value).IsZero() && !placeholder().MatchString(p.Value),
				p.valueSpan(), show(p.Value))
		}},
	{id: "ACL025", severity: Error, code: "EP0003", stage: stagePath, checks: "dump_path has a colon but is no proper IPv4:path",
		message: Text{EN: "dump_path %s: the remote form is IPv4:path, but %s", ZH: "dump_path %s：远端路径格式为 IPv4:path，但%s"},
		acl: func(a *ACL, r *reporter) {
			p, fault := a.DumpPath, remoteFault(a.DumpPath.Value)
			r.when(!fault.IsZero(), p.valueSpan(), show(p.Value), fault)
		}},
	{id: "ACL026", severity: Warning, checks: "an environment variable overrides dump_path",
		message: Text{EN: "the environment variable %s overrides dump_path for exception dumps", ZH: "环境变量 %s 会覆盖异常 dump 的 dump_path"},
		needs:   (*ACL).Exception, ignored: Text{EN: "a variable of the environment comes before it", ZH: "被环境变量覆盖"},
		acl: func(a *ACL, r *reporter) {
			for _, name := range []string{"ASCEND_DUMP_PATH", "NPU_COLLECT_PATH", "ASCEND_WORK_PATH"} {
				value, ok := r.opt.env(name)
				r.when(ok && a.Exception() && a.DumpPath.Present(), a.DumpPath.keySpan(), name+"="+shorten(value))
			}
		}},
}

// placeholder matches what people expect to be expanded.
var placeholder = lang.Pattern(`\$\{[^}]*\}?|\$[A-Za-z_0-9]*|~|%[A-Za-z_][A-Za-z_0-9]*%|\{[^}]*\}`)

// folderFaults says what is wrong with a path that is no usable folder.
var folderFaults = map[PathState]Text{
	PathMissing:  {EN: "does not exist; create it first, it is not created for you", ZH: "不存在；请先创建，运行时不会自动创建"},
	PathNotDir:   {EN: "is not a folder", ZH: "不是目录"},
	PathNoAccess: {EN: "may not be read and written by this user", ZH: "当前用户没有读写权限"},
}

// remoteText is what the part behind the colon may consist of.
const remoteText = `-=[];\,./!@#$%^&*()_+{}:?`

// isRemote reports whether a path is a correct IPv4:path.
func isRemote(path string) bool {
	ip, _, colon := strings.Cut(path, ":")
	return colon && isIPv4(ip) && remoteFault(path).IsZero()
}

// isLocal reports whether a path is meant for this host.
func isLocal(path string) bool { return path != "" && !isRemote(path) }

// remoteFault says what is wrong with a path that looks like IPv4:path. It
// returns nothing for paths without a colon, for those with a slash before
// it, which are local, and for correct ones.
func remoteFault(path string) lang.Sentence {
	ip, tail, colon := strings.Cut(path, ":")
	switch {
	case !colon || strings.Contains(ip, "/"):
		return lang.Sentence{}
	case ip == "":
		return lang.Sayf("the address is missing", "缺少地址")
	case !isIPv4(ip):
		return lang.Sayf("%s is no IPv4 address", " %s 不是 IPv4 地址", show(ip))
	case tail == "":
		return lang.Sayf("the path is missing", "缺少路径")
	}
	for i, r := range tail {
		if (r|0x20 < 'a' || r|0x20 > 'z') && (r < '0' || r > '9') && !strings.ContainsRune(remoteText, r) {
			_, size := utf8.DecodeRuneInString(tail[i:])
			return lang.Sayf("%q is not allowed in the path", "路径中不允许 %q", tail[i:i+size])
		}
	}
	return lang.Sentence{}
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
