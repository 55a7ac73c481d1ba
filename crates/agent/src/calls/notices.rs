// SPDX-License-Identifier: Apache-2.0
//! What processes want a person to know.

use binder::stub::Answer;
use server::notices::{self, NoticeKey};

use super::{Event, Notice, full};

impl Event<'_> {
    fn key(&self, tag: Option<&str>, id: i32) -> NoticeKey {
        let process = self.state.server.processes.get(self.process);
        NoticeKey {
            package: process.map(|it| it.package.clone()).unwrap_or_default(),
            tag: tag.map(str::to_owned),
            id,
        }
    }

    pub(super) fn post(&mut self, notice: &Notice) -> Answer<()> {
        let key = self.key(notice.tag.as_deref(), notice.id);
        let kept = notices::Notice {
            channel: notice.channel.clone(),
            title: notice.title.clone(),
            text: notice.text.clone(),
            is_ongoing: notice.is_ongoing,
            service: notice.is_of_service.then_some(self.process),
        };
        let posted = self.state.server.notices.post(key, kept);
        posted.map_err(|it| full(&it))
    }

    pub(super) fn withdraw(&mut self, tag: Option<&str>, id: i32, is_of_service: bool) {
        let key = self.key(tag, id);
        self.state.server.notices.withdraw(key, is_of_service);
    }

    pub(super) fn withdraw_all(&mut self) {
        let NoticeKey { package, .. } = self.key(None, 0);
        self.state.server.notices.withdraw_all(&package);
    }
}
