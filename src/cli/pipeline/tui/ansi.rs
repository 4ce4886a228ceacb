//! Pictures for a terminal, written as ANSI escape sequences. Knows nothing of the terminal itself.

use anstyle::{Ansi256Color, AnsiColor};
use ratatui_core::backend::{Backend, ClearType, WindowSize};
use ratatui_core::buffer::Cell;
use ratatui_core::layout::{Position, Size};
use std::io::{self, Write};

/// Switches to the terminal's alternate screen and hides the cursor; and the reverse.
pub(super) const ENTER: &str = "\x1b[?1049h\x1b[?25l";
pub(super) const LEAVE: &str = "\x1b[?1049l\x1b[?25h";

/// The terminal that reads the output. The caller knows its size, and keeps the cursor hidden.
pub(super) struct Ansi<W>(pub(super) W);

/// The colors of the terminal's theme, by number, so that bold does not make them brighter.
fn style(cell: &Cell) -> anstyle::Style {
    let color = AnsiColor::try_from(cell.fg).ok().map(|it| Ansi256Color::from_ansi(it).into());
    anstyle::Style::new().fg_color(color).effects(cell.modifier.into())
}

impl<W: Write> Backend for Ansi<W> {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, cells: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let (mut place, mut worn) = (None, anstyle::Style::new());
        for (x, y, cell) in cells {
            if place != Some((x, y)) {
                self.set_cursor_position((x, y))?;
            }
            let style = style(cell);
            if style != worn {
                write!(self.0, "{worn:#}{style}")?;
            }
            write!(self.0, "{}", cell.symbol())?;
            // Every symbol of the view takes one column.
            (place, worn) = (Some((x + 1, y)), style);
        }
        write!(self.0, "{worn:#}")
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        let Position { x, y } = position.into();
        write!(self.0, "\x1b[{};{}H", y + 1, x + 1)
    }

    fn clear(&mut self) -> io::Result<()> {
        write!(self.0, "\x1b[2J")
    }

    fn clear_region(&mut self, _: ClearType) -> io::Result<()> {
        self.clear()
    }

    fn size(&self) -> io::Result<Size> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
