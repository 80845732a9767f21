package lang

import (
	"fmt"
	"io/fs"
	"maps"
	"strings"
	"sync"
)

// byTable stands for the Chinese of a template that the table of messages has.
const byTable = "\x00"

// Say returns the sentence of a message that the table has in Chinese: a template in
// English with its arguments, as fmt.Errorf takes them, or a text without arguments. A
// message that is not in the table is the same in both languages.
func Say(format string, args ...any) Sentence {
	return Sentence{&sentence{Text{EN: format, ZH: byTable}, args}}
}

// Errorf is fmt.Errorf for a message that the table has in Chinese.
func Errorf(format string, args ...any) error {
	return &said{fmt.Errorf(format, args...), Say(format, args...)}
}

// Problem is an error that is a sentence. Kinds of errors embed it.
type Problem struct{ Sentence }

// Error is the sentence in English.
func (p Problem) Error() string { return p.String() }

// said is an error with its sentence.
type said struct {
	error
	sentence Sentence
}

// Text is the message in both languages.
func (e *said) Text() Text { return Text{EN: e.Error(), ZH: e.sentence.in(true)} }

// Unwrap returns the error without its sentence, which wraps what it is made of.
func (e *said) Unwrap() error { return e.error }

// chinese are the messages in Chinese by their templates.
var chinese = sync.OnceValue(func() map[string]string {
	all := systemInChinese()
	for _, table := range []map[string]string{readersInChinese(), runsInChinese(), commandsInChinese(), lineInChinese()} {
		maps.Copy(all, table)
	}
	return all
})

// message is a template of the table in a language.
func message(format string, zh bool, plain bool) string {
	if zh {
		if text, ok := chinese()[format]; ok {
			format = text
		}
	}
	if plain {
		return strings.ReplaceAll(format, "%%", "%") // a text, not a template
	}
	return strings.ReplaceAll(format, "%w", "%v")
}

// errorIn is an error in a language: in Chinese its own text, or that of what it wraps
// in place of what that says in English.
func errorIn(err error, zh bool) string {
	text := err.Error()
	if !zh {
		return text
	}
	switch e := any(err).(type) {
	case interface{ Text() Text }:
		return e.Text().ZH
	case *fs.PathError:
		return fmt.Sprintf("%s：%s", e.Path, errorIn(e.Err, zh))
	case interface{ Unwrap() error }:
		return inPlace(text, e.Unwrap())
	case interface{ Unwrap() []error }:
		return inPlace(text, e.Unwrap()...)
	}
	if known, ok := chinese()[text]; ok {
		return known
	}
	return text
}

// inPlace is a text in which what errors say in English is Chinese.
func inPlace(text string, parts ...error) string {
	for _, part := range parts {
		if part != nil && part.Error() != "" {
			text = strings.Replace(text, part.Error(), errorIn(part, true), 1)
		}
	}
	return text
}

// systemInChinese are errors of the system and of Go's library.
func systemInChinese() map[string]string {
	return map[string]string{
		"EOF":                               "文件已结束",
		"unexpected EOF":                    "文件提前结束",
		"file does not exist":               "文件不存在",
		"file already exists":               "文件已存在",
		"file already closed":               "文件已关闭",
		"no such file or directory":         "没有该文件或目录",
		"permission denied":                 "没有权限",
		"operation not permitted":           "不允许该操作",
		"is a directory":                    "是目录",
		"not a directory":                   "不是目录",
		"directory not empty":               "目录不为空",
		"file exists":                       "文件已存在",
		"file name too long":                "文件名过长",
		"no space left on device":           "磁盘空间不足",
		"disk quota exceeded":               "超出磁盘配额",
		"read-only file system":             "文件系统只读",
		"too many open files":               "打开的文件过多",
		"too many levels of symbolic links": "符号链接层数过多",
		"input/output error":                "输入输出错误",
		"invalid argument":                  "参数无效",
		"broken pipe":                       "管道已断开",
		"connection refused":                "连接被拒绝",
		"connection reset by peer":          "连接被对方重置",
		"no such host":                      "没有该主机",
		"i/o timeout":                       "超时",
		"context deadline exceeded":         "超时",
		"context canceled":                  "被中断",
		"device or resource busy":           "设备或资源忙",
		"stale file handle":                 "文件句柄已失效",
	}
}
