//! A page as steps: commands of its `console` blocks with what they print, and set-up that readers do not see.
//!
//! In a block a line `$ command` is a command, `> ` goes on with it, the lines below are what it prints. A command
//! ends with 0, unless it is the last of a block whose fence says `exit=N`. `<!-- setup: … -->` is shell text that has
//! to succeed; what it prints is of no interest.

/// One command of a page.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// Shell text.
    pub(crate) command: String,
    /// What it prints, and its exit status; `None` for set-up.
    pub(crate) shown: Option<Shown>,
}

/// What a page shows of a command.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    /// Index of the first line of output in the page.
    pub(crate) first: usize,
    pub(crate) lines: Vec<String>,
    pub(crate) exit: i32,
}

/// The steps of a page in order.
pub(crate) fn steps(text: &str) -> Vec<Step> {
    let lines: Vec<&str> = text.lines().collect();
    let (mut steps, mut at) = (Vec::new(), 0);
    while let Some(line) = lines.get(at) {
        at += 1;
        if let Some(info) = line.strip_prefix("```console") {
            let end = at + lines[at..].iter().position(|line| *line == "```").expect("the block is closed");
            let exit = info.trim_matches([',', ' ']).strip_prefix("exit=").map_or(0, |exit| exit.parse().unwrap());
            steps.extend(block(&lines[at..end], at, exit));
            at = end + 1;
        } else if let Some(rest) = line.strip_prefix("<!-- setup:") {
            let mut command = rest.to_owned();
            while !command.contains("-->") {
                command = format!("{command}\n{}", lines.get(at).expect("the comment is closed"));
                at += 1;
            }
            let (command, _) = command.split_once("-->").unwrap();
            steps.push(Step { command: command.trim().to_owned(), shown: None });
        } else if line.starts_with("```") {
            at += 1 + lines[at..].iter().position(|line| *line == "```").expect("the block is closed");
        }
    }
    steps
}

fn block(lines: &[&str], first: usize, exit: i32) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for (nth, line) in lines.iter().enumerate() {
        if let Some(command) = line.strip_prefix("$ ") {
            let shown = Shown { first: first + nth + 1, lines: Vec::new(), exit: 0 };
            steps.push(Step { command: command.to_owned(), shown: Some(shown) });
            continue;
        }
        let step = steps.last_mut().expect("a console block begins with a command");
        let shown = step.shown.as_mut().unwrap();
        match line.strip_prefix("> ") {
            Some(more) if shown.lines.is_empty() => {
                step.command = format!("{}\n{more}", step.command);
                shown.first += 1;
            }
            _ => shown.lines.push((*line).to_owned()),
        }
    }
    if let Some(shown) = steps.last_mut().and_then(|step| step.shown.as_mut()) {
        shown.exit = exit;
    }
    steps
}

#[test]
fn commands_output_and_set_up_are_told_apart() {
    let text =
        "# Page\n<!-- setup: a\nb -->\n```toml\n$ no\n```\n```console,exit=5\n$ one\n> two\nout\n\n$ three\n```\n";
    let shown = |first, lines: &[&str], exit| {
        Some(Shown { first, lines: lines.iter().map(|line| (*line).to_owned()).collect(), exit })
    };
    let step = |command: &str, shown| Step { command: command.to_owned(), shown };
    let expected = [step("a\nb", None), step("one\ntwo", shown(9, &["out", ""], 0)), step("three", shown(12, &[], 5))];
    assert_eq!(steps(text), expected);
}
